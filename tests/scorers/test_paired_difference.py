"""Paired intervals against their formulas written again, and against other libraries."""

from itertools import product
from math import isnan, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq, minimize
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from misstep.scorers._intervals import paired_difference, paired_ratio

Z = 1.959963984540054


def pairs(a, b, c, d):
    """Two lists of hits: both right a times, the first alone b, the second alone c, neither d."""
    first = [1.0] * (a + b) + [0.0] * (c + d)
    return first, [1.0] * a + [0.0] * b + [1.0] * c + [0.0] * d


def newcombe(a, b, c, d):
    """Method 10 of the paper, from the four cells of its table."""
    n = a + b + c + d
    p1, p2 = (a + b) / n, (a + c) / n
    l1, u1 = proportion_confint(a + b, n, method="wilson")
    l2, u2 = proportion_confint(a + c, n, method="wilson")
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    phi = 0.0
    if margins:
        top = a * d - b * c
        if top > n / 2:
            phi = (top - n / 2) / sqrt(margins)
        elif top < 0:
            phi = top / sqrt(margins)
    below = sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    above = sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    return p1 - p2, p1 - p2 - below, p1 - p2 + above


@settings(max_examples=200, deadline=None)
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(sum))
def test_the_interval_is_newcombes(cells):
    found = paired_difference(*pairs(*cells))
    wanted = newcombe(*cells)
    assert (found.value, found.lower, found.upper) == pytest.approx(wanted, abs=1e-9)
    assert -1 <= found.lower <= found.value <= found.upper <= 1


def test_without_correlation_it_is_that_of_independent_samples():
    found = paired_difference(*pairs(24, 36, 16, 24))
    lower, upper = confint_proportions_2indep(60, 100, 40, 100, method="newcomb", compare="diff")
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-9)


def test_pairing_makes_the_interval_narrower():
    paired = paired_difference(*pairs(55, 5, 5, 35))
    loose = paired_difference(*pairs(36, 24, 24, 16))
    assert paired.upper - paired.lower < 0.6 * (loose.upper - loose.lower)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(0)
    chances, n, times = (0.3, 0.4, 0.1, 0.2), 60, 1500
    truth = chances[1] - chances[2]
    held = 0
    for a, b, c, d in random.multinomial(n, chances, size=times):
        found = paired_difference(*pairs(a, b, c, d))
        held += found.lower <= truth <= found.upper
    assert 0.935 <= held / times <= 0.975


def test_of_nothing_there_is_no_difference():
    assert isnan(paired_difference([], []).value)


def test_means_over_epochs_have_an_interval_too():
    found = paired_difference([0.5, 1.0, 0.5, 1.0], [0.0, 0.5, 0.5, 0.5])
    assert found.value == pytest.approx(0.375)
    assert found.lower < 0.375 < found.upper


def tango(n, b, c):
    """Tango's interval of (b - c) / n by the closed form of the paper."""

    def score(delta):
        middle = -b - c + (2 * n - b + c) * delta
        root = sqrt(middle**2 + 8 * n * c * delta * (1 - delta))
        variance = n * ((root - middle) / (2 * n) + delta * (1 - delta))
        return (b - c - n * delta) / sqrt(variance)

    value, tiny = (b - c) / n, 1e-12
    ends = [-1 + tiny, value - tiny], [value + tiny, 1 - tiny]
    return [
        brentq(lambda x, side=side: score(x) - side * Z, *between, xtol=1e-13)
        for side, between in zip((1, -1), ends, strict=True)
    ]


DIFFERENCES = [(-1.0, 1.0), (0.0, 1.0), (1.0, 1.0)]


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.integers(1, 60), *[st.integers(0, 60)] * 2))
def test_a_ratio_to_one_is_tangos_difference(cells):
    agree, b, c = cells
    parts = [(0.0, 1.0)] * agree + [(1.0, 1.0)] * b + [(-1.0, 1.0)] * c
    found = paired_ratio(parts, DIFFERENCES)
    n = sum(cells)
    assert found.value == pytest.approx((b - c) / n)
    assert found.upper - found.lower > 0.03
    assert (found.lower, found.upper) == pytest.approx(tango(n, b, c), abs=1e-6)
    assert -1 <= found.lower <= found.upper <= 1


def likely_variance(weights, counts):
    """The variance of weights under the most likely shares whose mean weight is 0, by SciPy."""
    n = counts.sum()
    found = minimize(
        lambda p: -(counts[counts > 0] * np.log(p[counts > 0])).sum() / n,
        np.full(len(weights), 1 / len(weights)),
        bounds=[(1e-12, 1)] * len(weights),
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: p @ weights},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x @ weights**2


@pytest.mark.parametrize("counts", [(30, 4, 11, 15), (9, 0, 0, 11), (0, 3, 8, 9), (40, 1, 0, 0)])
def test_the_ends_of_a_ratio_are_those_of_a_score_test(counts):
    # A blind spot: both answers right, the own error alone, the other's alone, neither.
    cells = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)]
    parts = [(xi - ir, xi) for xi, ir in cells]
    samples = [part for part, count in zip(parts, counts, strict=True) for _ in range(count)]
    found = paired_ratio(samples, parts)
    n, counts = sum(counts), np.array(counts)
    assert found.lower < found.value < found.upper <= 1
    for end in (found.lower, found.upper):
        weights = np.array([top - end * bottom for top, bottom in parts])
        mean = weights @ counts / n
        assert n * mean**2 / likely_variance(weights, counts) == pytest.approx(Z**2, rel=1e-3)


def test_clusters_widen_the_interval_of_a_ratio():
    parts = [(float(i % 4 == 0), 1.0) for i in range(80)]
    apart = paired_ratio(parts, DIFFERENCES)
    clusters = [i // 4 for i in range(80)]
    together = paired_ratio(sorted(parts), DIFFERENCES, clusters)
    mixed = paired_ratio(Random(0).sample(parts, 80), DIFFERENCES, clusters)
    width, wide, narrow = (one.upper - one.lower for one in (apart, together, mixed))
    assert wide > 1.8 * width
    assert narrow == pytest.approx(width, rel=0.25)
    agree = [(0.0, 1.0)] * 80
    few = paired_ratio(agree, DIFFERENCES, [i // 20 for i in range(80)])
    assert few.upper > 5 * paired_ratio(agree, DIFFERENCES).upper > 0.2


def test_the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    chances, n, times = (0.25, 0.1, 0.3, 0.35), 60, 400
    cells = [(float(xi), float(ir)) for xi, ir in product((1, 0), (1, 0))]
    truth = 1 - (0.25 + 0.3) / 0.35
    parts = [(xi - ir, xi) for xi, ir in cells]
    held = 0
    for counts in random.multinomial(n, chances, size=times):
        samples = [part for part, count in zip(parts, counts, strict=True) for _ in range(count)]
        found = paired_ratio(samples, parts)
        held += found.lower <= truth <= found.upper
    assert 0.92 <= held / times <= 0.985


def test_a_ratio_without_a_bottom_is_undefined():
    for parts in ([], [(1.0, 0.0)], [(1.0, -1.0)]):
        assert isnan(paired_ratio(parts, DIFFERENCES).value)
    # The bottoms may well be 0: any ratio is possible.
    open_ended = paired_ratio(
        [(1.0, 1.0), (0.0, -1.0), (1.0, 1.0), (0.0, -1.0), (0.0, 1.0)],
        [(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)],
    )
    assert open_ended.value == 2
    assert isnan(open_ended.lower)
