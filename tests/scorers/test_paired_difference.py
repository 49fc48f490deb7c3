"""Newcombe's paired interval against the formula written again, and against another library."""

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from misstep.scorers._intervals import paired_difference


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
