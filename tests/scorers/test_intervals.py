"""Intervals against the definition, other libraries, and the share of cases that they must hold."""

import math
import sys
from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from inspect_ai.scorer import SampleScore, Score, ci_wilson, stderr
from scipy.stats import binom, t
from statsmodels.stats.proportion import proportion_confint

from benchmarks import coverage
from benchmarks.coverage import f1_coverage, nearest_coverage, share_coverage, simulated_coverage
from misstep.scorers import Estimate, f1_estimate, harmonic_mean, mean_estimate, share
from misstep.scorers._intervals import _student

Z = 1.959963984540054


def hits(right, n):
    return [1.0] * right + [0.0] * (n - right)


@pytest.mark.parametrize(("right", "n"), [(3, 10), (0, 7), (7, 7), (120, 400), (1, 1)])
def test_a_share_has_wilsons_interval(right, n):
    got = share(hits(right, n))
    assert got.value == pytest.approx(right / n)
    ends = proportion_confint(right, n, method="wilson")
    assert (got.lower, got.upper) == pytest.approx(ends, abs=1e-12)


def distance(p, right, n):
    """The standard errors between a true share and a measured one, as in the score test."""
    return (right / n - p) / np.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize(
    ("a", "b", "n", "m"), [(3, 18, 20, 20), (0, 0, 20, 30), (30, 9, 30, 40), (7, 7, 7, 7)]
)
def test_f1_holds_every_pair_that_the_score_test_does_not_reject(a, b, n, m):
    grid = np.linspace(1e-6, 1 - 1e-6, 2001)
    first, second = np.meshgrid(grid, grid)
    held = distance(first, a, n) ** 2 + distance(second, b, m) ** 2 <= Z**2
    values = (2 * first * second / (first + second))[held]
    got = f1_estimate(hits(a, n), hits(b, m))
    assert got.value == pytest.approx(harmonic_mean(a / n, b / m))
    assert got.lower == pytest.approx(values.min(), abs=1e-3)
    assert got.upper == pytest.approx(values.max(), abs=1e-3)


def test_many_samples_have_the_interval_of_the_delta_method():
    a, b, n = 0.3, 0.8, 100_000
    got = f1_estimate(hits(30_000, n), hits(80_000, n))
    slopes = 2 * b**2 / (a + b) ** 2, 2 * a**2 / (a + b) ** 2
    errors = (s * math.sqrt(p * (1 - p) / n) for s, p in zip(slopes, (a, b), strict=True))
    assert got.stderr == pytest.approx(math.hypot(*errors), rel=1e-3)


@pytest.mark.parametrize("n", [1, 5, 50])
@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_no_interval_has_zero_width_at_the_edges(a, b, n):
    f1 = f1_estimate(hits(a * n, n), hits(b * n, n))
    assert 0 <= f1.lower <= f1.value <= f1.upper <= 1
    assert f1.upper - f1.lower > 1 / (n + 4)
    assert f1.stderr > 0
    accuracy = share(hits(a * n, n))
    assert accuracy.upper - accuracy.lower > 1 / (n + 4)


@pytest.mark.parametrize(
    ("error", "correct"), [(0.1, 0.03), (0.01, 0.01), (0.99, 0.99), (0.5, 0.9)]
)
def test_intervals_of_f1_hold_the_truth_as_often_as_they_say(error, correct):
    # The bootstrap held it in 78% of cases at 0.10 and 0.03 with 50 samples each.
    assert f1_coverage(50, error, correct) > 0.92
    assert share_coverage(50, correct) > 0.91


def test_intervals_of_a_hundred_samples_are_close_to_nominal():
    for error in (0.05, 0.3, 0.95):
        assert 0.93 <= f1_coverage(100, error, 0.5) <= 0.97


@pytest.mark.parametrize(
    ("n", "small", "others"), [(100, 0.01, (0.3, 0.9)), (20, 0.05, (0.7, 0.99)), (20, 0.01, (0.9,))]
)
def test_coverage_misses_the_aim_only_where_no_interval_reaches_it(n, small, others):
    """Hits are whole numbers: all acceptable sets of counts are too likely or too unlikely."""
    sums = [0, *np.cumsum(binom.pmf(np.arange(n + 1), n, small))]
    reachable = np.array([high - low for low, high in combinations(sums, 2)])
    assert not np.any((reachable >= 0.93) & (reachable <= 0.97))
    best = reachable[np.argmin(np.abs(reachable - 0.95))]
    assert nearest_coverage(n, small) == pytest.approx(best, abs=1e-6)
    for other in others:
        assert f1_coverage(n, other, small) == pytest.approx(best, abs=0.002)


def clustered(seed, clusters, size, p):
    random = Random(seed)
    values = []
    for _ in range(clusters):
        own = random.betavariate(2 * p, 2 * (1 - p))
        values += [float(random.random() < own) for _ in range(size)]
    return values, [cluster for cluster in range(clusters) for _ in range(size)]


def sample_scores(values, clusters):
    return [
        SampleScore(score=Score(value=value), sample_id=i, sample_metadata={"cluster": cluster})
        for i, (value, cluster) in enumerate(zip(values, clusters, strict=True))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_share_of_clusters_is_that_of_inspect(seed):
    values, clusters = clustered(seed, 30, 4, 0.6)
    scores = sample_scores(values, clusters)
    got, wanted = share(values, clusters), ci_wilson(cluster="cluster")(scores)
    assert (got.lower, got.upper) == pytest.approx((wanted["lower"], wanted["upper"]), abs=1e-6)
    assert got.stderr == pytest.approx(stderr(cluster="cluster")(scores), rel=0.1)


def test_clusters_widen_an_interval():
    values, clusters = clustered(1, 30, 4, 0.6)
    got, naive = share(values, clusters), share(values)
    assert got.upper - got.lower > 1.2 * (naive.upper - naive.lower)


def test_clusters_of_one_change_nothing():
    values = hits(7, 20)
    assert share(values, list(range(20))) == share(values)
    assert f1_estimate(values, values, range(20), range(20, 40)) == f1_estimate(values, values)


def test_a_cluster_of_both_sets_widens_the_interval_of_f1():
    values, clusters = clustered(3, 40, 2, 0.5)
    apart = f1_estimate(values, values, clusters, [-1 - cluster for cluster in clusters])
    shared = f1_estimate(values, values, clusters, clusters)
    assert shared.upper - shared.lower > 1.3 * (apart.upper - apart.lower)


def test_equal_hits_of_clusters_count_once_a_cluster():
    got = share([1.0] * 100, [i // 5 for i in range(100)])
    assert got.lower == pytest.approx(20 / (20 + t.ppf(0.975, 19) ** 2), abs=1e-6)


def test_means_over_epochs_have_the_variance_of_the_data():
    random = Random(8)
    means = [sum(random.random() < 0.5 for _ in range(8)) / 8 for _ in range(200)]
    got = share(means)
    data = t.ppf(0.975, 199) * np.std(means, ddof=1) / math.sqrt(200)
    assert (got.upper - got.lower) / 2 == pytest.approx(data, rel=0.02)
    # Wilson's interval of 200 samples, ±6.9 points, is almost three times as wide.
    assert (got.upper - got.lower) / 2 < 0.03


@pytest.mark.parametrize("design", [(100, 5, 0.3, False), (100, 8, 0.0, True), (20, 5, 0.3, False)])
def test_intervals_of_clusters_and_epochs_hold_the_truth(design, monkeypatch):
    monkeypatch.setattr("benchmarks.coverage.TRIALS", 200)
    for found in simulated_coverage(*design, 0.7, 0.3):
        assert found > 0.9


def table_rows(page):
    return [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]


def cells(row):
    return row.strip("| ").split(" | ")


def test_one_command_writes_the_coverage_in_the_docs(tmp_path, monkeypatch):
    """The tables of the fewest samples, which take little time, and one simulated cell."""
    for name in ("SIZES", "COMPARED"):
        monkeypatch.setattr(coverage, name, (20,))
    monkeypatch.setattr(coverage, "SIMULATED", (0.7,))
    monkeypatch.setattr(coverage, "DESIGNS", coverage.DESIGNS[2:3])
    monkeypatch.setattr(sys, "argv", ["coverage", "--output", str(tmp_path / "page.md")])
    coverage.main()
    *exact, columns, simulated = table_rows((tmp_path / "page.md").read_text(encoding="utf-8"))
    in_docs = table_rows(coverage.PAGE.read_text(encoding="utf-8"))
    assert len(exact) > 30
    assert set(exact) <= set(in_docs)
    [name, cell] = cells(simulated)
    [head] = [row for row in in_docs if row.startswith("| error, correct accuracy")]
    [row] = [row for row in in_docs if row.startswith(f"| {name} |")]
    assert dict(zip(cells(head), cells(row), strict=True))[cells(columns)[1]] == cell


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 10, 100, 1000])
def test_students_distribution(degrees):
    assert _student(degrees) == pytest.approx(t.ppf(0.975, degrees), abs=0.004)


def test_more_samples_never_widen_an_interval():
    found = [f1_estimate(hits(3 * k, 10 * k), hits(8 * k, 10 * k)) for k in (1, 2, 5, 10, 100)]
    for wide, narrow in pairwise(one.upper - one.lower for one in found):
        assert narrow < wide


def test_the_mean_of_four_equal_estimates_is_half_as_wide():
    got = mean_estimate([Estimate(0.5, 0.4, 0.62)] * 4)
    assert (got.value, got.lower, got.upper) == pytest.approx((0.5, 0.45, 0.56))


def test_undefined_values_stay_undefined():
    for got in (share([]), f1_estimate([], [1.0]), mean_estimate([share([]), share([1.0])])):
        assert math.isnan(got.value)
        assert math.isnan(got.lower)
