"""Tests of two runs on the same samples: McNemar's exact test, paired bootstrap, Holm."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep.scorers import SEED, Estimate, from_draws

Array: TypeAlias = NDArray[np.float64]

RESAMPLES = 10_000
_MOST_CELLS = 4_000_000
"""How many counts are held in memory at once."""


@dataclass(frozen=True)
class McNemar:
    """The outcome of McNemar's exact test."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: Sequence[float], second: Sequence[float]) -> McNemar | None:
    """Test whether two runs are right equally often: exact, two-sided, on differing samples.

    Returns None if a hit is neither 0 nor 1, as after a mean over epochs.
    """
    if any(hit not in (0.0, 1.0) for hit in (*first, *second)):
        return None
    pairs = list(zip(first, second, strict=True))
    b = sum(one > other for one, other in pairs)
    c = sum(one < other for one, other in pairs)
    return McNemar(b, c, _binomial_p(min(b, c), b + c))


def _binomial_p(fewer: int, n: int) -> float:
    """The exact two-sided p-value of a fair coin whose rarer side came up `fewer` times in n."""
    term, total = 1, 0
    for i in range(fewer + 1):
        total += term
        term = term * (n - i) // (i + 1)
    # Python divides integers of any size exactly to the last bit of the float.
    return min(1.0, 2 * total / (1 << n))


def holm(ps: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down rule."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected = [1.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        corrected[index] = highest
    return corrected


Statistic: TypeAlias = Callable[[Array, Array], Array]
"""A metric of resamples. Arguments: counts by resample and cell, and the values of each cell."""


@dataclass(frozen=True)
class Difference:
    """The metric of the second run minus the metric of the first, with a two-sided p-value."""

    first: float
    second: float
    estimate: Estimate
    p: float


def bootstrap(
    rows: Array,
    first: Statistic,
    second: Statistic,
    strata: Array | None = None,
    resamples: int = RESAMPLES,
) -> Difference:
    """Bootstrap the difference of two metrics over the same samples, within strata if given.

    A resample is a multinomial draw over the distinct rows: the same distribution, and faster.
    """
    keyed = rows if strata is None else np.column_stack([strata, rows])
    cells, counts = np.unique(keyed, axis=0, return_counts=True)
    groups = np.zeros(len(cells)) if strata is None else cells[:, 0]
    values = cells if strata is None else cells[:, 1:]
    generator = np.random.default_rng(SEED)
    parts = []
    left = resamples
    while left:
        size = min(left, max(1, _MOST_CELLS // len(cells)))
        drawn = np.empty((size, len(cells)))
        for group in np.unique(groups):
            of_group = groups == group
            total = int(counts[of_group].sum())
            drawn[:, of_group] = generator.multinomial(total, counts[of_group] / total, size=size)
        parts.append(second(drawn, values) - first(drawn, values))
        left -= size
    draws = np.concatenate(parts)
    whole = counts[np.newaxis, :].astype(np.float64)
    a, b = float(first(whole, values)[0]), float(second(whole, values)[0])
    return Difference(a, b, from_draws(b - a, draws), bootstrap_p(draws))


def bootstrap_p(draws: Array) -> float:
    """Twice the share of resamples on the rarer side of no difference.

    One is added to both counts, as in a permutation test, so that p is never 0.
    """
    known = draws[~np.isnan(draws)]
    below, above = int((known <= 0).sum()), int((known >= 0).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (known.size + 1))


def mean_of(column: int, where: Mapping[int, float] | None = None) -> Statistic:
    """The mean of a column over the samples whose other columns have the given values."""

    def statistic(drawn: Array, values: Array) -> Array:
        within = np.ones(len(values))
        for other, wanted in (where or {}).items():
            within = within * (values[:, other] == wanted)
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Array = (drawn @ (values[:, column] * within)) / (drawn @ within)
        return share

    return statistic


def harmonic(one: Statistic, other: Statistic) -> Statistic:
    """The harmonic mean of two metrics: 0 if both are 0, nan if one is undefined."""

    def statistic(drawn: Array, values: Array) -> Array:
        a, b = one(drawn, values), other(drawn, values)
        total = a + b
        result: Array = np.where(np.isnan(total), np.nan, 0.0)
        np.divide(2 * a * b, total, out=result, where=total > 0)
        return result

    return statistic


def ratio(part: int, others: Sequence[int], empty: float) -> Statistic:
    """The sum of a column divided by the sum of that column and others."""

    def statistic(drawn: Array, values: Array) -> Array:
        top = drawn @ values[:, part]
        whole = top + drawn @ values[:, list(others)].sum(axis=1)
        result: Array = np.full(top.shape, empty)
        np.divide(top, whole, out=result, where=whole > 0)
        return result

    return statistic


def average(statistics: Sequence[Statistic]) -> Statistic:
    """The plain mean of some metrics."""

    def statistic(drawn: Array, values: Array) -> Array:
        first, *others = statistics
        total: Array = sum((one(drawn, values) for one in others), first(drawn, values))
        return total / len(statistics)

    return statistic
