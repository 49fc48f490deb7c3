"""Confidence intervals.

Wilson's for a share, Newcombe's for the difference of two shares of the same samples, and a seeded
bootstrap over samples for F1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Draws: TypeAlias = "NDArray[np.float64]"
"""A figure's values in resamples. NumPy is imported where it is used: every start of Inspect
imports this module, and few of them score anything."""

LEVEL = 0.95
RESAMPLES = 2000
SEED = 42

_Z = 1.959963984540054
"""The standard normal's 97.5% point, for LEVEL."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval; nan where it is undefined."""

    value: float
    lower: float
    upper: float
    stderr: float = nan


def harmonic_mean(a: float, b: float) -> float:
    """F1 of two accuracies: 0 where both are 0, nan where one is undefined."""
    return 0.0 if a + b == 0 else 2 * a * b / (a + b)


def share(hits: Sequence[float]) -> Estimate:
    """The mean of values in [0, 1], with Wilson's score interval."""
    return wilson(sum(hits) / len(hits), len(hits)) if hits else Estimate(nan, nan, nan)


def wilson(p: float, n: int) -> Estimate:
    """A share of so many samples, with Wilson's score interval."""
    centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    # Clipped, since rounding can leave the ends a hair outside the estimate at 0 and 1.
    return Estimate(p, max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half)))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How much larger the first of two shares of the same samples is, with a paired interval.

    Newcombe's hybrid score interval (Statistics in Medicine 17, 1998, 2635-2650, method 10): the
    Wilson intervals of the two shares, brought together by how far hits of the one go with hits of
    the other. That correlation is corrected for continuity as there. Values between 0 and 1, the
    means over epochs, are treated alike.

    Args:
        first: One value in [0, 1] a sample.
        second: The other value of the same samples, in the same order.
    """
    n = len(first)
    if n == 0:
        return Estimate(nan, nan, nan)
    a, b = share(first), share(second)
    difference = a.value - b.value
    together = _correlation(first, second)
    below = _distance(a.value - a.lower, b.upper - b.value, together)
    above = _distance(a.upper - a.value, b.value - b.lower, together)
    return Estimate(difference, max(-1.0, difference - below), min(1.0, difference + above))


def _distance(one: float, other: float, together: float) -> float:
    # Clipped, since rounding can leave a hair less than nothing.
    return sqrt(max(0.0, one**2 - 2 * together * one * other + other**2))


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Of a table of hits a, b, c, d: (ad - bc) over the root of its margins, corrected."""
    n = len(first)
    hits, others = sum(first), sum(second)
    margins = hits * (n - hits) * others * (n - others)
    if margins <= 0:
        return 0.0
    excess = n * sum(x * y for x, y in zip(first, second, strict=True)) - hits * others
    if excess > 0:
        excess = max(0.0, excess - n / 2)
    return excess / sqrt(margins)


def f1_draws(errors: Sequence[float], corrects: Sequence[float]) -> Draws:
    """F1 of RESAMPLES resamples of the samples, drawn with replacement.

    Resampling n samples is a multinomial draw over their distinct (set, hit) pairs, of which there
    are few: the same distribution, some hundred times faster. The accuracies of a resample that
    misses one of the two sets, and so its F1, are nan.

    Args:
        errors: The hit, between 0 and 1, of each sample with an error.
        corrects: The same for samples without an error.
    """
    import numpy as np

    cells = sorted({(0, hit) for hit in errors} | {(1, hit) for hit in corrects})
    n = len(errors) + len(corrects)
    if n == 0:
        return np.full(RESAMPLES, nan)
    counts = [[errors, corrects][which].count(hit) for which, hit in cells]
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(n, np.array(counts) / n, size=RESAMPLES).astype(np.float64)
    accuracies = []
    for wanted in (0, 1):
        of_set = np.array([which == wanted for which, _ in cells], dtype=np.float64)
        hits = np.array([hit for _, hit in cells])
        with np.errstate(invalid="ignore"):
            accuracies.append((drawn @ (of_set * hits)) / (drawn @ of_set))
    total = accuracies[0] + accuracies[1]
    f1: Draws = np.where(np.isnan(total), nan, 0.0)
    np.divide(2 * accuracies[0] * accuracies[1], total, out=f1, where=total > 0)
    return f1


def from_draws(value: float, draws: Draws) -> Estimate:
    """An estimate with the percentile interval and the standard deviation of its draws."""
    import numpy as np

    known = draws[~np.isnan(draws)]
    if isnan(value) or known.size == 0:
        return Estimate(value, nan, nan)
    tail = (1 - LEVEL) / 2 * 100
    lower, upper = np.percentile(known, [tail, 100 - tail])
    return Estimate(value, float(lower), float(upper), float(known.std(ddof=1)))
