"""Estimates with confidence intervals.

Wilson's interval for a share, Newcombe's for the difference of two shares of the same samples, and
a seeded bootstrap over samples for F1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from statistics import stdev
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Draws: TypeAlias = "NDArray[np.float64]"
"""The values of a metric in all resamples. Functions import NumPy when they use it: every start of
Inspect imports this module, and few starts score anything."""

LEVEL = 0.95
RESAMPLES = 2000
SEED = 42

_Z = 1.959963984540054
"""The 97.5% point of the standard normal distribution, for LEVEL."""


@dataclass(frozen=True)
class Estimate:
    """The value of a metric with its interval; nan if it is undefined."""

    value: float
    lower: float
    upper: float
    stderr: float = nan

    def interval(self, name: str) -> Iterator[tuple[str, float]]:
        """Yield both ends of the interval as metrics of their own."""
        yield f"{name}_lower", self.lower
        yield f"{name}_upper", self.upper


UNDEFINED = Estimate(nan, nan, nan)


def harmonic_mean(a: float, b: float) -> float:
    """Return the F1 of two accuracies: 0 if both are 0, nan if one is undefined."""
    return 0.0 if a + b == 0 else 2 * a * b / (a + b)


def share(hits: Sequence[float]) -> Estimate:
    """Return the mean of values in [0, 1], with Wilson's score interval."""
    return wilson(sum(hits) / len(hits), len(hits)) if hits else UNDEFINED


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, like Inspect's metric of this name."""
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else nan


def wilson(p: float, n: int) -> Estimate:
    """Return the share p of n samples, with Wilson's score interval."""
    centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    # Rounding can push the ends slightly outside of the estimate at 0 and 1, so clip them.
    return Estimate(p, max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half)))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the first share minus the second share of the same samples, with a paired interval.

    Newcombe's hybrid score interval (Statistics in Medicine 17, 1998, 2635-2650, method 10). It
    combines the Wilson intervals of both shares by the correlation of their hits, with Newcombe's
    correction for continuity. Values between 0 and 1 (means over epochs) are treated alike.
    """
    if not first:
        return UNDEFINED
    a, b = share(first), share(second)
    difference = a.value - b.value
    correlation = _correlation(first, second)
    below = _distance(a.value - a.lower, b.upper - b.value, correlation)
    above = _distance(a.upper - a.value, b.value - b.lower, correlation)
    return Estimate(difference, max(-1.0, difference - below), min(1.0, difference + above))


def _distance(one: float, other: float, correlation: float) -> float:
    # Rounding can make the sum slightly negative, so clip it.
    return sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2))


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return (ad - bc) over the root of the margins of a table of hits a, b, c, d, corrected."""
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
    """Return the F1 of RESAMPLES resamples of the samples, drawn with replacement.

    Resampling n samples is a multinomial draw over their distinct (set, hit) pairs. There are few
    pairs, so this gives the same distribution some hundred times faster. F1 is nan for a resample
    that has no sample of one of the two sets. A hit is between 0 and 1.
    """
    import numpy as np

    cells = sorted({(0, hit) for hit in errors} | {(1, hit) for hit in corrects})
    if not cells:
        return np.full(RESAMPLES, nan)
    counts = [[errors, corrects][which].count(hit) for which, hit in cells]
    drawn = multinomial_draws(counts)
    accuracies = []
    for wanted in (0, 1):
        of_set = np.array([which == wanted for which, _ in cells], dtype=np.float64)
        hits = np.array([hit for _, hit in cells])
        with np.errstate(invalid="ignore"):
            accuracies.append((drawn @ (of_set * hits)) / (drawn @ of_set))
    return f1_of_draws(*accuracies)


def multinomial_draws(counts: "Sequence[int] | NDArray[np.int64]") -> Draws:
    """Return how often each kind of sample stands in each of RESAMPLES resamples."""
    import numpy as np

    total = int(sum(counts))
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(total, np.array(counts) / total, size=RESAMPLES)
    return drawn.astype(np.float64)


def f1_of_draws(first: Draws, second: Draws) -> Draws:
    """Return the harmonic mean of two accuracies, or of precision and recall, of each resample."""
    import numpy as np

    total = first + second
    f1: Draws = np.where(np.isnan(total), nan, 0.0)
    np.divide(2 * first * second, total, out=f1, where=total > 0)
    return f1


def from_draws(value: float, draws: Draws) -> Estimate:
    """Return an estimate with the percentile interval and the standard deviation of its draws."""
    import numpy as np

    known = draws[~np.isnan(draws)]
    if isnan(value) or known.size == 0:
        return Estimate(value, nan, nan)
    tail = (1 - LEVEL) / 2 * 100
    lower, upper = np.percentile(known, [tail, 100 - tail])
    return Estimate(value, float(lower), float(upper), float(known.std(ddof=1)))
