import math
from random import Random
from types import SimpleNamespace

import pytest
from inspect_ai.scorer import SampleScore, Score
from pytest_inspect_evals.metrics import assert_agreeing_epochs_change_nothing

from misstep.scorers import section_metrics, section_table
from misstep.scorers._sections import count_sections

FIGURES = [f"{x}_{kind}" for x in ("f1", "precision", "recall") for kind in ("macro", "micro")]


def sample(flagged, gold, subset=None, **metadata):
    return SampleScore(
        score=Score(value=dict(count_sections(flagged, gold).value), metadata=metadata),
        sample_metadata={"subset": subset},
    )


def figures(scores):
    return section_table(scores, scores)


def published_figures(pairs):
    """Macro and micro by the published script's rules, written again."""
    rows, tp, fp, fn = [], 0, 0, 0
    for flagged, gold in pairs:
        a, b, c = len(flagged & gold), len(flagged - gold), len(gold - flagged)
        p = a / (a + b) if a + b else 0
        r = a / (a + c) if a + c else 0
        rows.append((p, r, 2 * p * r / (p + r) if p + r else 0))
        tp, fp, fn = tp + a, fp + b, fn + c
    p, r, f1 = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    mp, mr = tp / (tp + fp), tp / (tp + fn)
    micro = 2 * mp * mr / (mp + mr)
    names = ("precision_macro", "recall_macro", "f1_macro", "precision_micro", "recall_micro")
    return dict(zip((*names, "f1_micro"), (p, r, f1, mp, mr, micro), strict=True))


def random_pairs(seed, count):
    random = Random(seed)
    draw = lambda most: set(random.sample(range(1, 20), random.randrange(1, most)))  # noqa: E731
    return [(draw(6) - {random.randrange(20)}, draw(4)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_figures_are_those_of_the_published_rule(seed):
    pairs = random_pairs(seed, 60)
    got = figures([sample(*pair) for pair in pairs])
    for name, value in published_figures(pairs).items():
        assert got[name] == pytest.approx(value, abs=1e-12)
        assert got[f"{name}_lower"] < value < got[f"{name}_upper"]


def test_intervals_repeat_themselves_and_are_about_as_wide_as_theory_has_them():
    pairs = random_pairs(7, 400)
    got = figures([sample(*pair) for pair in pairs])
    assert got == figures([sample(*pair) for pair in pairs])
    values = [count_sections(*pair).value["f1"] for pair in pairs]
    mean = sum(values) / 400
    stderr = math.sqrt(sum((x - mean) ** 2 for x in values) / 399 / 400)
    assert got["stderr"] == pytest.approx(stderr, rel=0.02)
    assert got["f1_macro_upper"] - got["f1_macro_lower"] == pytest.approx(3.92 * stderr, rel=0.02)


def test_intervals_over_sections_are_those_of_a_bootstrap_over_solutions():
    pairs = random_pairs(11, 300)
    got = figures([sample(*pair) for pair in pairs])
    random, values = Random(2), []
    for _ in range(1000):
        values.append(published_figures(random.choices(pairs, k=len(pairs)))["f1_micro"])
    values.sort()
    assert got["f1_micro_lower"] == pytest.approx(values[25], abs=0.01)
    assert got["f1_micro_upper"] == pytest.approx(values[975], abs=0.01)


@pytest.mark.parametrize("flagged", [{1}, {2}])
def test_no_interval_has_zero_width(flagged):
    got = figures([sample(flagged, {1})] * 20)
    for name in FIGURES:
        assert got[f"{name}_upper"] - got[f"{name}_lower"] > 0.05


def test_epochs_of_a_sample_are_one_sample():
    first, second = sample({1}, {1}), sample({2}, {1})
    for one in (first, second):
        one.sample_id = "a"
    got = figures([first, second, sample({1}, {1})])
    assert (got["f1_macro"], got["total_count"]) == (0.75, 2)


def test_a_sample_that_one_epoch_leaves_out_counts_by_the_others():
    epochs = [sample({1}, {1}), sample(None, {1}, unread="empty", left_out="no reply")]
    for one in epochs:
        one.sample_id = "a"
    got = figures(epochs)
    assert (got["f1_macro"], got["left_out"]) == (1.0, 0.5)


def test_subsets_stand_apart():
    got = figures([sample({1}, {1}, "math"), sample({2}, {1}, "code"), sample({1}, {1}, "code")])
    assert (got["math_f1_macro"], got["code_f1_macro"]) == (1.0, 0.5)
    assert (got["code_precision_micro"], got["code_total_count"]) == (0.5, 2)
    assert got["f1_macro"] == pytest.approx(2 / 3)


def test_what_could_not_be_read_stays_in_the_denominator_and_is_reported():
    scores = [
        sample({1}, {1}),
        sample(None, {1}, unread="no_conclusion"),
        sample(None, {1, 2}, unread="truncated"),
        sample({1}, {1}, truncated=True),
    ]
    got = figures(scores)
    assert (got["f1_macro"], got["recall_micro"]) == (0.5, 0.4)
    assert (got["unparsed"], got["truncated"], got["left_out"]) == (0.25, 0.5, 0.0)


def test_what_the_published_script_leaves_out_is_left_out_and_reported():
    got = figures([sample({1}, {1}), sample(None, {1}, unread="empty", left_out="no reply")])
    assert (got["f1_macro"], got["recall_micro"], got["left_out"]) == (1.0, 1.0, 0.5)
    assert got["total_count"] == 2


@pytest.mark.parametrize(
    "scores",
    [[], [sample(None, {1}, unread="empty", left_out="no reply")]],
    ids=["empty", "all left out"],
)
def test_partial_and_empty_data_never_raise(scores):
    got = figures(scores)
    assert all(math.isnan(got[name]) and math.isnan(got[f"{name}_lower"]) for name in FIGURES)
    assert got["total_count"] == len(scores)


def test_no_erroneous_section_at_all_has_no_recall():
    got = figures([sample(set(), set()), sample({1}, set())])
    assert (got["f1_macro"], got["precision_micro"]) == (0.5, 0.0)
    assert math.isnan(got["recall_micro"])
    assert math.isnan(got["f1_micro"])


def test_epochs_that_agree_change_nothing(monkeypatch):
    # Inspect's mock model counts tokens with an encoding that it would download.
    monkeypatch.setattr("tiktoken.get_encoding", lambda name: SimpleNamespace(encode=_characters))
    scores = [sample(*pair, "math") for pair in random_pairs(3, 4)]
    assert_agreeing_epochs_change_nothing(
        [section_metrics()],
        [score.score for score in scores],
        metadata=[score.sample_metadata for score in scores],
        epochs=2,
        reducers=["mean"],
    )


def _characters(text, **options):
    return list(text)
