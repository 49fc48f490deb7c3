"""Biases of rewards, against scikit-learn and statsmodels."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from statsmodels.regression.linear_model import OLS

from misstep.reports import labelled_steps, reward_by, skill_left
from misstep.reports._step_rewards import clustered_auroc, step_features
from tests.reports.conftest import ROWS

GENERATOR = np.random.default_rng(7)


@pytest.fixture(scope="module")
def biased(runs):
    """A run whose rewards are longer steps and a little truth."""
    texts = {row.id: row for row in ROWS}
    samples = []
    for sample in runs.voted.samples:
        row = texts[sample.id]
        rewards = tuple(
            float(0.002 * len(step) - 0.1 * (i == row.label) + GENERATOR.normal(0, 0.05))
            for i, step in enumerate(row.steps)
        )
        score = replace(sample.scores["first_error"], rewards=rewards)
        samples.append(replace(sample, scores={"first_error": score}))
    return replace(runs.voted, samples=samples)


@pytest.fixture(scope="module")
def features():
    return {row.id: step_features(row.steps) for row in ROWS}


def labelled(run, features):
    """The labelled steps by an independent count: reward, wrong, length, position, style."""
    rows = []
    for sample in run.samples:
        rewards = sample.scores["first_error"].rewards
        for i, reward in enumerate(rewards):
            if sample.label < 0 or i <= sample.label:
                length, style = features[sample.id][i]
                place = i / max(1, len(rewards) - 1)
                rows.append([reward, i == sample.label, length, place, style])
    return np.array(rows, dtype=float)


def test_the_skill_of_rewards_and_what_is_left_of_it(biased, features):
    table = skill_left(labelled_steps([biased], features)).set_index("what")["auroc"]
    rows = labelled(biased, features)
    reward, wrong, length, place, style = rows.T
    assert table["rewards"] == pytest.approx(roc_auc_score(wrong, -reward), abs=1e-12)
    x = np.column_stack(
        [np.ones(len(rows)), np.log1p(length), place, place**2, style == 1, style == 2]
    ).astype(float)
    fit = OLS(reward[wrong == 0], x[wrong == 0]).fit()
    left = reward - fit.predict(x)
    adjusted = table["rewards, adjusted for them"]
    assert adjusted == pytest.approx(roc_auc_score(wrong, -left), abs=1e-9)
    # Length hides the truth in these rewards. What is left shows it.
    assert adjusted > table["rewards"]


def test_rewards_by_length_are_the_means_of_right_steps(biased, features):
    table = reward_by(labelled_steps([biased], features), "length")
    reward, wrong, length, *_ = labelled(biased, features).T
    for row in table.to_dict("records"):
        first, _, last = row["group"].rstrip("+").partition("–")
        kept = (wrong == 0) & (length >= int(first)) & (length <= int(last or 10**9))
        assert row["steps"] == kept.sum()
        assert row["reward"] == pytest.approx(reward[kept].mean())
    assert table["reward"].is_monotonic_increasing


def test_the_interval_of_an_auroc_is_that_of_resampled_clusters():
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(300), 4)
    wrong = generator.random(1200) < 0.3
    scores = generator.normal(0, 1, 1200) - wrong + np.repeat(generator.normal(0, 1, 300), 4)
    found = clustered_auroc(scores, wrong, clusters)
    assert found.value == pytest.approx(roc_auc_score(wrong, -scores))
    draws = []
    for _ in range(400):
        chosen = generator.integers(0, 300, 300)
        places = (4 * chosen[:, None] + np.arange(4)).ravel()
        draws.append(roc_auc_score(wrong[places], -scores[places]))
    spread = np.std(draws)
    assert (found.upper - found.lower) / (2 * 1.96) == pytest.approx(spread, rel=0.15)


def test_styles_are_formulas_calculations_and_words():
    steps = [r"So \(x = 2\).", "Then 3 + 4 = 7.", "Nothing is left.", "It costs $5."]
    assert [style for _, style in step_features(steps)] == [2, 1, 0, 0]
