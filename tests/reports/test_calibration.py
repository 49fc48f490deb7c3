"""Calibration: against an independent computation, by simulation, and with logs."""

import csv
from math import exp, log

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from scipy.stats import kendalltau

from misstep.cli._main import cli
from misstep.registry import MisstepError
from misstep.reports import ability_on, calibrate, rank_agreement, short_set
from tests.reports.conftest import ROWS, write_run
from tests.support.logs import guesses


def simulated(critics, rows, seed, slopes=False):
    """Abilities, difficulties, discriminations, and responses drawn from them."""
    random = np.random.default_rng(seed)
    ability, difficulty = random.normal(0, 1, critics), random.normal(0, 1.5, rows)
    slope = np.exp(random.normal(0, 0.4, rows)) if slopes else np.ones(rows)
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
    return ability, difficulty, slope, (random.random((critics, rows)) < chance).astype(float)


@pytest.mark.parametrize("model", ["rasch", "2pl"])
def test_the_fit_is_the_maximum_of_the_posterior(model):
    """Computed again with loops and without gradients, on few numbers."""
    right = simulated(4, 5, 1, model == "2pl")[3]
    right[1, 2] = np.nan

    def loss(x):
        ability, difficulty = x[:4], x[4:9]
        logs = x[9:] if model == "2pl" else [0] * 5
        value = sum(t**2 for t in ability) / 2 + sum((b / 2) ** 2 for b in difficulty) / 2
        value += sum((a / 0.5) ** 2 for a in logs) / 2
        for i, line in enumerate(right):
            for j, correct in enumerate(line):
                if not np.isnan(correct):
                    chance = 1 / (1 + exp(-exp(logs[j]) * (ability[i] - difficulty[j])))
                    value -= log(chance if correct else 1 - chance)
        return value

    size = 9 + 5 * (model == "2pl")
    found = minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-6}).x
    fitted = calibrate(right, model)
    assert fitted.abilities == pytest.approx(found[:4], abs=1e-3)
    assert fitted.difficulties == pytest.approx(found[4:9], abs=1e-3)
    if model == "2pl":
        assert fitted.discriminations == pytest.approx(np.exp(found[9:]), abs=1e-3)


@pytest.mark.parametrize("model", ["rasch", "2pl"])
def test_a_short_set_ranks_new_critics_like_all_rows(model):
    ability, difficulty, _, right = simulated(60, 1500, 2, model == "2pl")
    fitted = calibrate(right[:30], model)
    assert np.corrcoef(fitted.difficulties, difficulty)[0, 1] > 0.9
    assert np.corrcoef(fitted.abilities, ability[:30])[0, 1] > 0.98
    chosen = short_set(fitted, ["error", "correct"] * 750, 200)
    assert len(set(chosen)) == 200
    assert sum(row % 2 for row in chosen) == 100
    new = right[30:]
    expected = kendalltau(new.mean(axis=1), ability[30:]).statistic
    assert rank_agreement(new.mean(axis=1), ability[30:]) == pytest.approx(expected)
    on_set = ability_on(fitted, new, chosen)
    of_all = rank_agreement(new.mean(axis=1), on_set)
    random = np.random.default_rng(3)
    by_chance = [
        rank_agreement(new.mean(axis=1), new[:, random.choice(1500, 200, replace=False)].mean(1))
        for _ in range(20)
    ]
    print(f"{model}: Kendall {of_all:.3f}, of random rows {np.mean(by_chance):.3f}")
    assert of_all > 0.85
    assert of_all > np.mean(by_chance)


def test_the_command_writes_rows_critics_and_the_set(tmp_path):
    logs = []
    for number, skill in enumerate((0.1, 0.4, 0.7, 0.95)):
        path = tmp_path / f"{number}.eval"
        write_run(path, guesses(ROWS, skill, number), model=f"openai/m{number}")
        logs.append(str(path))
    options = ["calibrate", *logs, "--rows", "40", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, options)
    assert result.exit_code == 0, result.output
    assert "40 are in the short set" in result.output
    critics = list(csv.DictReader((tmp_path / "out" / "critics.csv").open(encoding="utf-8")))
    assert [line["critic"].split(",")[0] for line in critics] == [
        f"openai/m{number}" for number in (3, 2, 1, 0)
    ]
    ids = (tmp_path / "out" / "set.txt").read_text(encoding="utf-8").split()
    assert len(ids) == 40
    assert set(ids) <= {row.id for row in ROWS}
    alone = CliRunner().invoke(cli, ["calibrate", logs[0]])
    assert isinstance(alone.exception, MisstepError)
    assert "at least two critics" in str(alone.exception)
