"""Estimates with confidence intervals.

Wilson's score interval for a share, its extension to F1 and to clusters of dependent samples,
Newcombe's interval for the difference of two shares of the same samples, and a score interval for
ratios. `docs/coverage.md` shows how often these intervals contain the true value.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import cos, hypot, inf, isfinite, isnan, nan, pi, sin, sqrt, tan
from typing import TYPE_CHECKING, TypeAlias

from inspect_ai.scorer import Metric, SampleScore, Value

from misstep.plain_text import metric_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Draws: TypeAlias = "NDArray[np.float64]"
"""The values of a metric in all resamples. Functions import NumPy when they use it: every start of
Inspect imports this module, and few starts score anything."""

Clusters: TypeAlias = "Sequence[Hashable] | None"
"""The cluster of each hit. None: each hit is a cluster of its own."""

Wholes: TypeAlias = "Sequence[float] | None"
"""What each part is a part of. None: each part is a hit from 0 to 1."""

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


@dataclass(frozen=True)
class _Sample:
    """A share, and how much is known about it."""

    share: float
    size: float
    """The effective number of independent hits."""
    critical: float = _Z
    """The distance of the interval's ends, in standard errors."""

    def bound(self, z: float) -> float:
        """Return the share that lies z standard errors above (below if negative) by Wilson."""
        n, p = self.size, self.share
        centre = p + z * z / (2 * n)
        bound = (centre + z * sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)) / (1 + z * z / n)
        # Rounding can push a bound slightly to the wrong side of the share, so clip it.
        return min(1.0, max(p, bound)) if z >= 0 else max(0.0, min(p, bound))


def _sample(parts: Sequence[float], clusters: Clusters, wholes: Wholes = None) -> _Sample:
    """Return the share of the parts in the wholes with its effective size."""
    return _sample_and_deviations(parts, clusters, wholes)[0]


def _sample_and_deviations(
    parts: Sequence[float], clusters: Clusters, wholes: Wholes = None
) -> tuple[_Sample, dict[Hashable, float]]:
    """Return the share with its effective size, and by how much each cluster exceeds the share.

    The size is that of Korn and Graubard: p(1-p) divided by the variance of the share over
    clusters. The critical value is Student's for the number of clusters. Hits that are 0 or 1 never
    count as more than their number. If all hits are equal, then their variance is not known, and
    the size is the number of clusters.
    """
    n = len(parts) if wholes is None else sum(wholes)
    p = min(1.0, max(0.0, sum(parts) / n))
    deviations = _deviations(parts, clusters, p, wholes)
    groups = len(deviations)
    binary = wholes is None and {0, 1}.issuperset(parts)
    if binary and groups == n:
        return _Sample(p, n), deviations
    if groups < 2:
        return _Sample(p, 1), deviations
    variance = sum(x * x for x in deviations.values()) * groups / (groups - 1) / n**2
    if p * (1 - p) * variance <= 0:
        return _Sample(p, groups, _student(groups - 1)), deviations
    size = p * (1 - p) / variance
    found = _Sample(p, min(size, n) if binary else size, _student(groups - 1))
    return found, deviations


def _deviations(
    parts: Sequence[float], clusters: Clusters, share: float, wholes: Wholes = None
) -> dict[Hashable, float]:
    """Return by how much each cluster exceeds the share."""
    sums: dict[Hashable, float] = {}
    names = range(len(parts)) if clusters is None else clusters
    sizes = repeat(1.0, len(parts)) if wholes is None else wholes
    for cluster, part, whole in zip(names, parts, sizes, strict=True):
        if whole:
            sums[cluster] = sums.get(cluster, 0.0) + part - share * whole
    return sums


def _student(degrees: int) -> float:
    """Return the 97.5% point of Student's distribution.

    Exact for one and two degrees of freedom. For more, it is the expansion of Abramowitz and Stegun
    (26.7.5), which is right to 0.004 for three and to 0.0001 from seven.
    """
    if degrees == 1:
        return tan(pi * (LEVEL / 2))
    if degrees == 2:
        return LEVEL * sqrt(2 / (1 - LEVEL**2))
    z, v = _Z, float(degrees)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


def _estimate(value: float, lower: float, upper: float) -> Estimate:
    """Return an estimate whose standard error fits the width of its interval."""
    return Estimate(value, min(lower, value), max(upper, value), (upper - lower) / (2 * _Z))


def share(hits: Sequence[float], clusters: Clusters = None) -> Estimate:
    """Return the mean of hits from 0 to 1, with Wilson's score interval.

    Hits between 0 and 1 are means over epochs, or other partial scores: their variance is taken
    from the data. So is the variance of hits in clusters, which are not independent.
    """
    return _wilson(_sample(hits, clusters)) if hits else UNDEFINED


def _wilson(known: _Sample) -> Estimate:
    return _estimate(known.share, known.bound(-known.critical), known.bound(known.critical))


def ratio(parts: Sequence[float], wholes: Sequence[float], clusters: Clusters = None) -> Estimate:
    """Return the sum of parts over the sum of wholes, with an interval as in `share`.

    A part is the number of hits of one sample, its whole is the number of chances.
    """
    if not sum(wholes):
        return UNDEFINED
    return _wilson(_sample(parts, clusters, wholes))


def f1_estimate(
    errors: Sequence[float],
    corrects: Sequence[float],
    error_clusters: Clusters = None,
    correct_clusters: Clusters = None,
) -> Estimate:
    """Return the F1 of hits on samples with and without an error, with a score interval.

    Wilson's interval holds every share that is at most 1.96 standard errors away. This interval
    holds the F1 of every pair of shares that are, together, at most that far away: the sum of their
    squared distances is at most 1.96 squared. It never has zero width. Clusters change the sizes as
    in `share`, and clusters with samples of both sets also give the correlation of both shares.
    """
    return class_estimates(errors, corrects, error_clusters, correct_clusters)[0]


def class_estimates(
    errors: Sequence[float],
    corrects: Sequence[float],
    error_clusters: Clusters = None,
    correct_clusters: Clusters = None,
) -> tuple[Estimate, Estimate, Estimate]:
    """Return F1 and the shares of both sets of hits, as `f1_estimate` and `share` do, at once."""
    sets = ((errors, error_clusters), (corrects, correct_clusters))
    known = [_sample_and_deviations(*one) if one[0] else None for one in sets]
    f1 = UNDEFINED
    if (first := known[0]) is not None and (second := known[1]) is not None:
        correlation = 0.0
        if error_clusters is not None and correct_clusters is not None:
            correlation = _cluster_correlation(first[1], second[1])
        f1 = _f1_interval(first[0], second[0], correlation)
    of_errors, of_corrects = (UNDEFINED if one is None else _wilson(one[0]) for one in known)
    return f1, of_errors, of_corrects


def _f1_interval(a: _Sample, b: _Sample, correlation: float = 0.0) -> Estimate:
    other = sqrt(1 - correlation**2)

    def f1_at(angle: float, side: int) -> float:
        first = side * a.critical * cos(angle)
        second = side * b.critical * (correlation * cos(angle) + other * sin(angle))
        return side * harmonic_mean(a.bound(first), b.bound(second))

    lower = -_largest(lambda angle: f1_at(angle, -1))
    upper = _largest(lambda angle: f1_at(angle, 1))
    return _estimate(harmonic_mean(a.share, b.share), lower, upper)


def _cluster_correlation(
    first: Mapping[Hashable, float], second: Mapping[Hashable, float]
) -> float:
    """Return the correlation of two shares over clusters. A negative one counts as 0."""
    both = sum(first[cluster] * second[cluster] for cluster in first.keys() & second.keys())
    squares = sum(x * x for x in first.values()) * sum(x * x for x in second.values())
    return min(1.0, max(0.0, both / sqrt(squares))) if squares > 0 else 0.0


_PARTS = 16
"""Parts of a right angle. The largest value is then searched in two of them."""


def _largest(value: Callable[[float], float]) -> float:
    """Return the largest value between 0 and a right angle."""
    part = pi / 2 / _PARTS
    best = max(range(_PARTS + 1), key=lambda place: value(place * part))
    low, high = max(0, best - 1) * part, min(_PARTS, best + 1) * part
    while high - low > 1e-4:
        third = (high - low) / 3
        if value(low + third) < value(high - third):
            low += third
        else:
            high -= third
    return max(value(best * part), value((low + high) / 2))


def mean_estimate(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates.

    The distances from the mean to the ends are the roots of the sums of the squared distances of
    all estimates (Zou and Donner, Statistics in Medicine 27, 2008, 1693-1702).
    """
    n = len(estimates)
    if not n or any(isnan(one.value) for one in estimates):
        return UNDEFINED
    value = sum(one.value for one in estimates) / n
    below = hypot(*(one.value - one.lower for one in estimates)) / n
    above = hypot(*(one.upper - one.value for one in estimates)) / n
    return _estimate(value, max(0.0, value - below), min(1.0, value + above))


def paired_difference(
    first: Sequence[float], second: Sequence[float], clusters: Clusters = None
) -> Estimate:
    """Return the first share minus the second share of the same samples, with a paired interval.

    Newcombe's hybrid score interval (Statistics in Medicine 17, 1998, 2635-2650, method 10). It
    combines the intervals of both shares by the correlation of their hits, with Newcombe's
    correction for continuity. Clusters and means over epochs change the intervals as in `share`.
    """
    if not first:
        return UNDEFINED
    a, b = share(first, clusters), share(second, clusters)
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


def paired_ratio(
    parts: Sequence[tuple[float, float]],
    possible: Sequence[tuple[float, float]],
    clusters: Clusters = None,
) -> Estimate:
    """Return the sum of the tops over the sum of the bottoms, with a score interval.

    The interval holds every ratio r that a score test accepts. The test asks whether the mean of
    top - r * bottom is 0. Its variance is that of the most likely distribution for which this mean
    is 0. So the interval has a width if all samples agree. If the tops are -1, 0 or 1 and the
    bottoms are 1, it is Tango's interval (Statistics in Medicine 17, 1998, 891-908). Clusters
    change the size as in `share`. The ratio is undefined unless the bottoms have a positive sum.
    An interval without an end is undefined.

    Args:
        parts: The top and the bottom of each sample.
        possible: The extreme pairs of top and bottom that a sample can have.
        clusters: The cluster of each sample.
    """
    bottom = sum(part for _, part in parts)
    if not parts or bottom <= 0:
        return UNDEFINED
    value = sum(part for part, _ in parts) / bottom
    kinds = Counter(parts)
    size, critical = _ratio_size([top - value * bottom for top, bottom in parts], clusters)

    def accepts(ratio: float) -> bool:
        weights = [(top - ratio * bottom, count) for (top, bottom), count in kinds.items()]
        ends = [top - ratio * bottom for top, bottom in possible]
        return size * _squared_score(weights, min(ends), max(ends)) <= critical**2

    lower, upper = (_last_accepted(value, side, accepts) for side in (-1, 1))
    return Estimate(value, lower, upper) if isfinite(upper - lower) else Estimate(value, nan, nan)


def _ratio_size(residuals: Sequence[float], clusters: Clusters) -> tuple[float, float]:
    """Return the effective number of samples, and the critical value for their clusters."""
    n = len(residuals)
    sums = list(_deviations(residuals, clusters, 0.0).values())
    groups = len(sums)
    if groups == n or groups < 2:
        return groups, _Z
    alone, together = sum(x * x for x in residuals), sum(x * x for x in sums)
    if together <= 0:
        return groups, _student(groups - 1)
    return min(n, n * alone * (groups - 1) / (groups * together)), _student(groups - 1)


def _squared_score(weights: Sequence[tuple[float, int]], low: float, high: float) -> float:
    """Return the squared mean of weights over its variance if the true mean is 0, for one sample.

    Args:
        weights: Each weight that was observed, and how often.
        low: The smallest possible weight.
        high: The largest possible weight.
    """
    n = sum(count for _, count in weights)
    mean = sum(weight * count for weight, count in weights) / n
    if abs(mean) < _EXACT:
        return 0.0
    if mean < 0:
        weights, low, high = [(-weight, count) for weight, count in weights], -high, -low
    if not low < 0 < high:
        return inf
    # The most likely shares are those of the sample over 1 + tilt * weight. The smallest weight
    # gets the rest, also if it was not observed.
    tilt = _root(lambda x: sum(w * c / (1 + x * w) for w, c in weights), -1 / low)
    shares = [(weight, count / n / (1 + tilt * weight)) for weight, count in weights]
    rest = max(0.0, 1 - sum(share for _, share in shares))
    variance = rest * low**2 + sum(share * weight**2 for weight, share in shares)
    return mean**2 / variance


_EXACT = 1e-12


def _root(falling: Callable[[float], float], end: float) -> float:
    """Return where a falling function is 0, from 0 to the end; the end if it stays positive."""
    below, above = 0.0, end * (1 - _EXACT)
    if falling(above) >= 0:
        return above
    while above - below > _EXACT * end:
        middle = (below + above) / 2
        if falling(middle) > 0:
            below = middle
        else:
            above = middle
    return below


_FARTHEST = 1e6


def _last_accepted(value: float, side: int, accepts: Callable[[float], bool]) -> float:
    """Return the accepted number that is farthest from a value on one side, or an infinite one."""
    near, far = 0.0, 0.125
    while accepts(value + side * far):
        near, far = far, 2 * far
        if far > _FARTHEST:
            return side * inf
    while far - near > 1e-9 * max(1.0, far):
        middle = (near + far) / 2
        if accepts(value + side * middle):
            near = middle
        else:
            far = middle
    return value + side * near


def multinomial_draws(counts: "Sequence[int] | NDArray[np.int64]") -> Draws:
    """Return how often each kind of sample stands in each of RESAMPLES resamples."""
    import numpy as np

    total = int(sum(counts))
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(total, np.array(counts) / total, size=RESAMPLES)
    return drawn.astype(np.float64)


def from_draws(value: float, draws: Draws, clusters: int = 0) -> Estimate:
    """Return an estimate with the percentile interval and the standard deviation of its draws.

    If all draws are equal, as those of a critic that is always right, then the number of clusters
    gives the width, as in `share`.
    """
    import numpy as np

    known = draws[~np.isnan(draws)]
    if isnan(value) or known.size == 0:
        return Estimate(value, nan, nan)
    if clusters and np.ptp(known) < 1e-9:
        alike = _Sample(value, clusters, _student(clusters - 1) if clusters > 1 else _Z)
        return _estimate(value, alike.bound(-alike.critical), alike.bound(alike.critical))
    tail = (1 - LEVEL) / 2 * 100
    lower, upper = np.percentile(known, [tail, 100 - tail])
    return Estimate(value, float(lower), float(upper), float(known.std(ddof=1)))


def metric_from(values: Callable[[list[SampleScore]], Iterable[tuple[str, float]]]) -> Metric:
    """Return a metric of Inspect with several values by name, such as a rate and its interval."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(values(scores))

    return compute
