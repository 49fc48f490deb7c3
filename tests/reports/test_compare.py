"""Tests and intervals against scipy and statsmodels."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests

from misstep.registry import MisstepError
from misstep.reports import (
    Aim,
    compare,
    comparison_json,
    comparison_markdown,
    comparison_notes,
    paired_samples,
)
from misstep.reports._paired import PairedData, holm, mcnemar, mean_of, permutation_p
from tests.reports.conftest import ROWS, read_run, write_run
from tests.scorers.test_paired_difference import newcombe


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=120))
def test_mcnemar_is_the_exact_test(pairs):
    first, second = ([float(x) for x in side] for side in zip(*pairs, strict=True))
    found = mcnemar(first, second)
    table = [[0, 0], [0, 0]]
    for a, b in pairs:
        table[1 - a][1 - b] += 1
    assert found.p == pytest.approx(reference_mcnemar(table, exact=True).pvalue, abs=1e-12)
    assert (found.only_first, found.only_second) == (table[0][1], table[1][0])


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 1), (500, 400), (1700, 1700), (3000, 400)])
def test_mcnemar_is_exact_for_large_samples_too(b, c):
    found = mcnemar([1.0] * b + [0.0] * c, [0.0] * b + [1.0] * c)
    reference = stats.binomtest(min(b, c), b + c).pvalue if b + c else 1.0
    assert found.p == pytest.approx(reference, rel=1e-9, abs=1e-300)


def test_mcnemar_is_not_for_shares_of_hits():
    assert mcnemar([0.5, 1.0], [1.0, 0.0]) is None


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_the_step_down_rule(ps):
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1].tolist(), abs=1e-12)


def accuracies(run, has_error):
    return [s.scores["first_error"].hit for s in run.samples if s.has_error == has_error]


def f1(error, correct):
    a, b = np.mean(error, axis=-1), np.mean(correct, axis=-1)
    return np.where(a + b > 0, 2 * a * b / np.where(a + b > 0, a + b, 1), 0.0)


def test_the_metrics_are_those_of_the_logs(runs):
    comparison = compare([runs.strong, runs.weak])
    for contrast in comparison.contrasts:
        if contrast.metric == "accuracy":
            continue
        strong = runs.strong.metrics["first_error"][contrast.metric]
        weak = runs.weak.metrics["first_error"][contrast.metric]
        assert contrast.first_value == pytest.approx(strong, abs=1e-9)
        assert contrast.second_value == pytest.approx(weak, abs=1e-9)
        assert contrast.difference == pytest.approx(weak - strong, abs=1e-9)
    assert {c.metric for c in comparison.contrasts} == {
        "f1_score",
        "error_accuracy",
        "correct_accuracy",
        "accuracy",
        "mean_subset_f1_score",
    }


def test_intervals_are_those_of_an_independent_paired_bootstrap(runs):
    """Samples drawn one by one, both runs together, within simulation error."""
    strong, weak = runs.strong, runs.weak
    comparison = {c.metric: c for c in compare([strong, weak]).contrasts}
    random = np.random.default_rng(7)
    has_error = np.array([s.has_error for s in strong.samples])
    hits = np.array([[s.scores["first_error"].hit for s in run.samples] for run in (strong, weak)])
    differences = {"f1_score": [], "error_accuracy": [], "correct_accuracy": [], "accuracy": []}
    for _ in range(6000):
        chosen = random.integers(0, len(has_error), len(has_error))
        drawn, errors = hits[:, chosen], has_error[chosen]
        error = drawn[:, errors].mean(axis=1)
        correct = drawn[:, ~errors].mean(axis=1)
        differences["error_accuracy"].append(error[1] - error[0])
        differences["correct_accuracy"].append(correct[1] - correct[0])
        both = 2 * error * correct / (error + correct)
        differences["f1_score"].append(both[1] - both[0])
        differences["accuracy"].append(drawn[1].mean() - drawn[0].mean())
    for metric, draws in differences.items():
        lower, upper = np.percentile(draws, [2.5, 97.5])
        near = 0.017
        if metric != "f1_score":
            # Shares have Newcombe's interval, not the bootstrap's.
            chosen = {"error_accuracy": has_error, "correct_accuracy": ~has_error}
            first, second = hits[:, chosen.get(metric, has_error | True)].astype(bool)
            cells = (first & second, second & ~first, first & ~second, ~first & ~second)
            _, lower, upper = newcombe(*(int(cell.sum()) for cell in cells))
            near = 1e-9
        assert comparison[metric].lower == pytest.approx(lower, abs=near), metric
        assert comparison[metric].upper == pytest.approx(upper, abs=near), metric


def test_the_interval_of_an_accuracy_is_scipys(runs):
    """Newcombe's formula with scipy's Wilson limits of both accuracies."""
    error = [np.array(accuracies(run, True), dtype=int) for run in (runs.strong, runs.weak)]
    n, (strong, weak) = len(error[0]), error
    limits = [stats.binomtest(x.sum(), n).proportion_ci(method="wilson") for x in error]
    down, up = [
        [abs(x.mean() - limit[side]) for x, limit in zip(error, limits, strict=True)]
        for side in (0, 1)
    ]
    covariance = n * (strong & weak).sum() - strong.sum() * weak.sum()
    phi = (covariance - np.clip(covariance, 0, n / 2)) / (n * n * strong.std() * weak.std())
    below = math.sqrt(down[1] ** 2 - 2 * phi * down[1] * up[0] + up[0] ** 2)
    above = math.sqrt(up[1] ** 2 - 2 * phi * up[1] * down[0] + down[0] ** 2)
    found = {c.metric: c for c in compare([runs.strong, runs.weak]).contrasts}["error_accuracy"]
    assert found.lower == pytest.approx(weak.mean() - strong.mean() - below, abs=1e-9)
    assert found.upper == pytest.approx(weak.mean() - strong.mean() + above, abs=1e-9)
    table = reference_mcnemar(
        [[0, sum(a > b for a, b in zip(*error, strict=True))],
         [sum(a < b for a, b in zip(*error, strict=True)), 0]],
        exact=True,
    )  # fmt: skip
    assert found.p == pytest.approx(table.pvalue, abs=1e-12)


def test_a_run_does_not_differ_from_itself(runs):
    for contrast in compare([runs.weak, runs.weak]).contrasts:
        assert contrast.difference == 0
        assert contrast.lower <= 0 <= contrast.upper
        assert contrast.p == 1.0
        assert contrast.more_samples is None


def paired_data(first, second, clusters=None):
    """Two columns that no metric groups by, then a value of each run."""
    first, second = np.array(first, dtype=float), np.array(second, dtype=float)
    nothing = np.zeros((len(first), 2))
    return PairedData(
        np.column_stack([nothing, first, second]),
        np.column_stack([nothing, second, first]),
        range(len(first)) if clusters is None else clusters,
    )


def difference(data, times=20_000):
    return data.difference(mean_of(2), mean_of(3), None, times)


@pytest.mark.parametrize("seed", range(3))
def test_the_permutation_test_is_scipys(seed):
    random = np.random.default_rng(seed)
    first = random.random(11).round(1)
    second = (first + random.normal(0.15, 0.3, 11)).clip(0, 1).round(1)
    reference = stats.permutation_test(
        (first, second),
        lambda a, b, axis: np.mean(b, axis=axis) - np.mean(a, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    found = difference(paired_data(first, second))
    assert found.estimate.value == pytest.approx(reference.statistic)
    assert found.p == pytest.approx(reference.pvalue, abs=0.012)


def test_the_permutation_test_of_f1_exchanges_the_runs_sample_by_sample(runs):
    """The same, one permutation after another."""
    hits = np.array(
        [[s.scores["first_error"].hit for s in run.samples] for run in (runs.weak, runs.voted)]
    )
    has_error = np.array([s.has_error for s in runs.weak.samples])

    def f1_difference(both):
        values = [f1(run[has_error], run[~has_error]) for run in both]
        return values[1] - values[0]

    observed = f1_difference(hits)
    random = np.random.default_rng(11)
    drawn = []
    for _ in range(6000):
        swap = random.random(hits.shape[1]) < 0.5
        drawn.append(f1_difference(np.where(swap, hits[::-1], hits)))
    expected = np.mean(np.abs(drawn) >= abs(observed) - 1e-12)
    [found] = [c for c in compare([runs.weak, runs.voted]).contrasts if c.metric == "f1_score"]
    assert found.test == "permutation"
    assert found.difference == pytest.approx(float(observed))
    assert found.p == pytest.approx(expected, abs=0.025)


def test_a_permutation_p_is_uniform_under_no_difference():
    random = np.random.default_rng(0)
    ps = []
    for _ in range(200):
        hits = (random.random((2, 60)) < 0.6).astype(float)
        ps.append(difference(paired_data(*hits), 500).p)
    assert np.mean(np.array(ps) <= 0.05) <= 0.09
    assert np.mean(ps) == pytest.approx(0.55, abs=0.08)
    assert min(ps) > 0
    assert math.isnan(permutation_p(float("nan"), np.array([1.0])))


def test_copies_of_a_sample_in_its_cluster_add_nothing():
    """Five equal samples of each problem: the clustered test is that of the problems alone."""
    random = np.random.default_rng(5)
    first = (random.random(40) < 0.5).astype(float)
    second = (random.random(40) < 0.65).astype(float)
    alone = difference(paired_data(first, second))
    five = [np.repeat(one, 5) for one in (first, second)]
    grouped = difference(paired_data(*five, clusters=np.repeat(np.arange(40), 5).tolist()))
    naive = difference(paired_data(*five))
    assert grouped.p == pytest.approx(alone.p, abs=0.015)
    assert naive.p < alone.p / 2
    widths = [one.estimate.upper - one.estimate.lower for one in (alone, grouped, naive)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)
    assert widths[2] < 0.6 * widths[0]


def with_clusters(run, size):
    samples = [replace(s, cluster=f"c{i // size}") for i, s in enumerate(run.samples)]
    return replace(run, samples=samples)


def with_other_hits(run, gained, lost):
    """The run with some wrong samples made right, and some right ones made wrong."""
    left = {0.0: gained, 1.0: lost}
    samples = []
    for sample in run.samples:
        score = sample.scores["first_error"]
        if left[score.hit]:
            left[score.hit] -= 1
            changed = replace(score, value=1 - score.hit)
            sample = replace(sample, scores={**sample.scores, "first_error": changed})
        samples.append(sample)
    return replace(run, samples=samples)


def test_clusters_are_the_units_of_a_comparison(runs):
    pair = [with_clusters(run, 4) for run in (runs.strong, runs.weak)]
    comparison = compare(pair)
    assert comparison.clusters == -(-len(ROWS) // 4)
    # McNemar's test takes samples as independent.
    assert {contrast.test for contrast in comparison.contrasts} == {"permutation"}
    assert "clusters" in comparison_markdown(comparison, 0)
    for clustered, plain in zip(
        comparison.contrasts, compare([runs.strong, runs.weak]).contrasts, strict=True
    ):
        assert clustered.difference == plain.difference
        assert clustered.independent.lower == pytest.approx(plain.lower, abs=1e-9)


def test_the_permutation_test_of_f1_exchanges_whole_clusters(runs):
    """The same, one permutation after another: all samples of a cluster are exchanged together."""
    alone = {s.id: s.scores["first_error"].hit for s in runs.weak.samples}
    # Neighbours in the ranking of hits share a cluster, so that whole clusters differ alike.
    order = sorted(runs.strong.samples, key=lambda s: s.scores["first_error"].hit - alone[s.id])
    cluster = {sample.id: f"c{place // 6}" for place, sample in enumerate(order)}
    pair = [
        replace(run, samples=[replace(s, cluster=cluster[s.id]) for s in run.samples])
        for run in (runs.strong, runs.weak)
    ]
    ids = [s.id for s in pair[0].samples]
    hits = np.array([[s.scores["first_error"].hit for s in run.samples] for run in pair])
    has_error = np.array([s.has_error for s in pair[0].samples])
    numbers = np.array([int(cluster[id][1:]) for id in ids])
    random = np.random.default_rng(3)

    def f1_difference(both):
        values = [f1(run[has_error], run[~has_error]) for run in both]
        return values[1] - values[0]

    observed = f1_difference(hits)
    drawn = []
    for _ in range(6000):
        swap = (random.random(numbers.max() + 1) < 0.5)[numbers]
        drawn.append(f1_difference(np.where(swap, hits[::-1], hits)))
    expected = np.mean(np.abs(drawn) >= abs(observed) - 1e-12)
    [found] = compare(pair, metric="f1_score").contrasts
    [single] = compare([runs.strong, runs.weak], metric="f1_score").contrasts
    assert found.p == pytest.approx(expected, abs=0.025)
    assert found.p > 3 * single.p


@pytest.mark.parametrize("metric", ["f1_score", "error_accuracy", "accuracy"])
def test_both_intervals_are_printed_where_clusters_change_them(runs, metric):
    weak = {s.id: s.scores["first_error"].hit for s in runs.weak.samples}
    # Samples on which the runs differ alike share a cluster.
    pair = [
        replace(
            run,
            samples=[
                replace(s, cluster=f"{i % 5} {strong.scores['first_error'].hit - weak[s.id]}")
                for i, (s, strong) in enumerate(zip(run.samples, runs.strong.samples, strict=True))
            ],
        )
        for run in (runs.strong, runs.weak)
    ]
    comparison = compare(pair, metric=metric)
    [found] = comparison.contrasts
    lower, upper = found.independent.lower, found.independent.upper
    assert found.upper - found.lower > 1.1 * (upper - lower)
    ends = f"[{100 * lower:.1f}, {100 * upper:.1f}]"
    said = f"B − A, {metric}: samples of one cluster are not independent."
    assert any(said in note and ends in note for note in comparison_notes(comparison))
    alone = comparison_notes(compare([runs.strong, runs.weak]))
    assert not any("cluster" in note for note in alone)


def test_holms_correction_is_over_all_tests_of_a_call(runs):
    for group in ([runs.strong, runs.weak], [runs.strong, runs.weak, runs.voted]):
        contrasts = compare(group).contrasts
        reference = multipletests([c.p for c in contrasts], method="holm")[1]
        assert [c.p_holm for c in contrasts] == pytest.approx(reference.tolist(), abs=1e-12)
    assert len(contrasts) == 15
    [alone] = compare([runs.strong, runs.weak], metric="f1_score").contrasts
    assert alone.p_holm == alone.p
    with pytest.raises(MisstepError, match="f1_score"):
        compare([runs.strong, runs.weak], metric="f1")


def test_a_run_that_is_not_much_worse_is_not_inferior(runs):
    same = compare([runs.strong, runs.strong], margin=0.1, metric="accuracy").contrasts[0]
    worse = compare([runs.strong, runs.weak], margin=0.1, metric="accuracy").contrasts[0]
    better = compare([runs.weak, runs.strong], margin=0.1, metric="accuracy").contrasts[0]
    assert (same.test, worse.p > 0.5, better.p < 0.05) == ("non-inferiority", True, True)
    assert same.p < 0.05
    z = (better.difference + 0.1) / better.stderr
    assert better.p == pytest.approx(stats.norm.sf(z), abs=1e-12)
    text = comparison_markdown(compare([runs.weak, runs.strong], margin=0.1), 0)
    assert "accuracy: B is not inferior to A by a margin of 10.0 points." in text


def test_runs_that_are_not_told_apart_form_groups(runs):
    comparison = compare([runs.weak, runs.strong, runs.voted, runs.weak, runs.weak])
    assert [c.metric for c in comparison.contrasts] == ["f1_score"] * 10
    order = [name for name, _ in comparison.ranking()]
    assert order[0] == "C"
    values = [value for _, value in comparison.ranking()]
    assert values == sorted(values, reverse=True)
    decided = {frozenset((c.first, c.second)): c.p_holm < 0.05 for c in comparison.contrasts}
    groups = comparison.tied_groups()
    assert any({"A", "D", "E"} <= set(group) for group in groups)
    for group in groups:
        assert not any(
            decided[frozenset((a, b))] for i, a in enumerate(group) for b in group[i + 1 :]
        )
    text = comparison_markdown(comparison, 0)
    assert "a bar joins runs that are not told apart" in text


def test_the_number_of_samples_that_would_decide_is_that_of_power(runs):
    other = with_other_hits(runs.strong, gained=7, lost=2)
    comparison = compare([runs.strong, other], metric="accuracy")
    [contrast] = comparison.contrasts
    assert contrast.p_holm >= 0.05
    discordance = (contrast.only_first + contrast.only_second) / contrast.samples
    needed = paired_samples(
        contrast.first_value, contrast.second_value, Aim(), discordance=discordance
    )
    assert contrast.samples + contrast.more_samples == pytest.approx(needed, rel=0.2)
    text = comparison_markdown(comparison, 0)
    about = float(f"{contrast.more_samples:.1e}")
    assert f"about {about:,.0f} more samples would decide" in text
    assert "There is one test, so its p-value needs no correction." in text


def test_differing_samples_are_those_that_one_run_alone_has_right(runs):
    comparison = compare([runs.strong, runs.weak])
    strong = {s.id: s.scores["first_error"].hit for s in runs.strong.samples}
    weak = {s.id: s.scores["first_error"].hit for s in runs.weak.samples}
    assert {d.id for d in comparison.differing} == {id for id in strong if strong[id] != weak[id]}
    [contrast] = [c for c in comparison.contrasts if c.metric == "accuracy"]
    assert contrast.only_first + contrast.only_second == len(comparison.differing)


def test_unlike_runs_are_refused_with_the_reason(runs, tmp_path):
    replies = [r"\boxed{0}"] * len(ROWS)

    def other(name, **options):
        rows = options.pop("rows", ROWS)
        write_run(tmp_path / f"{name}.eval", replies[: len(rows)], rows=rows, **options)
        return read_run(str(tmp_path / f"{name}.eval"))

    relabelled = [row.model_copy(update={"label": 0}) for row in ROWS]
    reworded = [row.model_copy(update={"problem": "?"}) for row in ROWS]
    for name, options, says in [
        ("version", {"task_version": 2}, "Different versions: .* has '1', .* has '2'"),
        ("eval", {"task": "misstep/procedural"}, "Different evals: .* 'processbench', .*"),
        (
            "fewer",
            {"rows": ROWS[:9]},
            f"Different data: .* {len(ROWS)} samples, .* has 9, and 9 are",
        ),
        ("labels", {"rows": relabelled}, "Different data: the sample .* has another target"),
        ("words", {"rows": reworded}, "Different data: the sample .* has another problem"),
    ]:
        with pytest.raises(MisstepError, match=says):
            compare([runs.weak, other(name, **options)])
    with pytest.raises(MisstepError, match="no published reading"):
        compare([runs.weak, runs.strong], reading="published")
    with pytest.raises(MisstepError, match="One run"):
        compare([runs.weak])
    comparison = compare([runs.weak, other("few", rows=ROWS[:9])], common=True)
    assert (comparison.samples, comparison.left_out) == (9, len(ROWS) - 9)


def test_failed_samples_are_left_out_and_told_of(folder, runs):
    comparison = compare([read_run(str(folder / "sub" / "failed.eval")), runs.weak])
    assert (comparison.samples, comparison.left_out) == (len(ROWS) - 1, 1)
    assert "1 samples that not all runs have a score for are left out" in comparison_markdown(
        comparison, 0
    )


def test_json_has_everything_and_no_nan(runs):
    only_errors = compare([runs.strong, runs.weak])
    content = json.loads(json.dumps(comparison_json(only_errors), allow_nan=False))
    assert content["samples"] == len(ROWS)
    assert len(content["differing"]) == len(only_errors.differing)
    assert content["contrasts"][0]["metric"] == "f1_score"
    assert math.isfinite(content["contrasts"][0]["lower"])


def test_a_frame_has_the_contrasts(runs):
    frame = compare([runs.strong, runs.weak]).frame()
    assert list(frame["metric"])[:2] == ["f1_score", "error_accuracy"]


def test_the_lenient_reading_is_compared_by_its_own_scores(runs):
    strict, lenient = (
        compare([runs.strong, runs.weak], reading=reading) for reading in ("strict", "lenient")
    )
    assert lenient.contrasts[0].first_value == pytest.approx(
        runs.strong.metrics["first_error_lenient"]["f1_score"]
    )
    assert strict.reading == "strict"
