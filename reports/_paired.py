"""Paired tests: McNemar, permutation, bootstrap intervals, Holm; and the metrics that are tested.

All tests are of runs on the same samples.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep.scorers import SEED, Estimate, from_draws

Array: TypeAlias = NDArray[np.float64]

RESAMPLES = 10_000
_PERMUTATIONS_A_TEST = 40
"""Permutations for each test at least: with fewer, no p-value could pass Holm's correction."""
_MOST_CELLS = 4_000_000
"""How many counts are held in memory at once."""

SUBSET, HAS_ERROR = 0, 1
FIRST_VALUE = 2
"""Columns of a sample: its subset, whether it has an error, then the values of one run or two."""


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


class PairedData:
    """Samples of two runs, counted by kind of cluster.

    A cell is a kind of sample: all of its values, in both runs. A cluster is a count of samples by
    cell. There are few kinds of cells and of clusters. So resamples and permutations draw how many
    clusters of each kind there are. The distribution is the same as if clusters were drawn one by
    one, and it is faster.
    """

    def __init__(self, rows: Array, swapped: Array, clusters: Sequence[Hashable]) -> None:
        """Count the samples.

        Args:
            rows: The values of each sample.
            swapped: The same rows with the values of both runs exchanged.
            clusters: The cluster of each sample.
        """
        n = len(rows)
        self.cells, places = np.unique(np.concatenate([rows, swapped]), axis=0, return_inverse=True)
        own, other = places.reshape(2, n)
        # The cell that each cell becomes if the runs are exchanged.
        self._exchanged = np.zeros(len(self.cells), dtype=int)
        self._exchanged[own], self._exchanged[other] = other, own
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
        contents = np.zeros((len(numbers), len(self.cells)))
        for cluster, cell in zip(clusters, own.tolist(), strict=True):
            contents[numbers[cluster], cell] += 1
        self._kinds, self._counts = np.unique(contents, axis=0, return_counts=True)
        self._kept: dict[tuple[str, int | None, int], list[Array]] = {}

    def difference(
        self, first: Statistic, second: Statistic, stratum: int | None, times: int
    ) -> Difference:
        """Estimate the difference of two metrics, and test it.

        The interval is that of resamples of clusters, within the strata of a column if given. The
        p-value is that of a permutation test: if the runs do not differ, then exchanging them in
        any cluster changes nothing.
        """
        whole = (self._counts @ self._kinds)[np.newaxis, :]
        a, b = (float(one(whole, self.cells)[0]) for one in (first, second))
        draws, exchanged = (
            np.concatenate([second(part, self.cells) - first(part, self.cells) for part in parts])
            for parts in (
                self._drawn("resamples", stratum, times),
                self._drawn("exchanges", None, times),
            )
        )
        return Difference(a, b, from_draws(b - a, draws), permutation_p(b - a, exchanged))

    def _drawn(self, what: str, stratum: int | None, times: int) -> Iterable[Array]:
        """Return counts by resample and cell. All metrics share them if they fit in memory."""
        key = (what, stratum, times)
        if key in self._kept:
            return self._kept[key]
        parts = self._exchanges(times) if what == "exchanges" else self._resamples(stratum, times)
        if times * len(self.cells) > _MOST_CELLS:
            return parts
        self._kept[key] = list(parts)
        return self._kept[key]

    def _sizes(self, times: int) -> Iterator[int]:
        """Yield the sizes of batches that fit in memory."""
        most = max(1, _MOST_CELLS // max(self._kinds.shape))
        yield from (min(most, times - start) for start in range(0, times, most))

    def _resamples(self, stratum: int | None, times: int) -> Iterator[Array]:
        generator = np.random.default_rng(SEED)
        strata = np.zeros(len(self._kinds))
        if stratum is not None:
            strata = self.cells[self._kinds.argmax(axis=1), stratum]
        for size in self._sizes(times):
            drawn = np.empty((size, len(self._kinds)))
            for group in np.unique(strata):
                chosen = strata == group
                counts = self._counts[chosen]
                shares = counts / counts.sum()
                drawn[:, chosen] = generator.multinomial(counts.sum(), shares, size=size)
            yield drawn @ self._kinds

    def _exchanges(self, times: int) -> Iterator[Array]:
        generator = np.random.default_rng(SEED)
        exchanged = np.zeros_like(self._kinds)
        exchanged[:, self._exchanged] = self._kinds
        for size in self._sizes(times):
            moved = generator.binomial(self._counts, 0.5, size=(size, len(self._counts)))
            yield (self._counts - moved) @ self._kinds + moved @ exchanged


def exchange_ps(
    own: Array,
    values: Sequence[Array],
    clusters: NDArray[np.intp],
    statistic: Statistic,
    times: int,
) -> tuple[list[float], dict[tuple[int, int], float]]:
    """Test every pair of runs on the same samples; return the metrics, and p-values by pair.

    The test is that of `PairedData.difference`. All pairs share the clusters that are exchanged.
    The metrics of this module depend only on sums of values over samples of one kind. So one
    product of matrices gives the sums of all runs after every exchange.

    Args:
        own: The columns that all runs share, a row for each sample. They are its kind.
        values: The values of each run, a row for each sample.
        clusters: The number of each sample's cluster.
        statistic: The metric of samples that have the columns of `own`, then those of one run.
        times: The number of permutations.
    """
    kinds, places = np.unique(own, axis=0, return_inverse=True)
    sums = np.zeros((len(values), int(clusters.max()) + 1, len(kinds), values[0].shape[1]))
    for of_run, rows in zip(sums, values, strict=True):
        np.add.at(of_run, (clusters, places.reshape(-1)), rows)
    metric = _metric_of_sums(kinds, np.bincount(places.reshape(-1)), sums.shape[-1], statistic)
    totals = sums.sum(axis=1)
    observed = metric(totals).tolist()
    exchanged = _exchanged_sums(sums, times)
    ps = {}
    for a, b in combinations(range(len(values)), 2):
        middle, apart = (totals[a] + totals[b]) / 2, exchanged[a] - exchanged[b]
        differences = metric(middle - apart) - metric(middle + apart)
        ps[a, b] = permutation_p(observed[b] - observed[a], differences)
    return observed, ps


def _exchanged_sums(sums: Array, times: int) -> Array:
    """The sum over clusters with random signs, halved, for each run and permutation."""
    runs, clusters, *shape = sums.shape
    by_cluster = sums.transpose(1, 0, 2, 3).reshape(clusters, -1)
    generator = np.random.default_rng(SEED)
    size = max(1, _MOST_CELLS // clusters)
    parts = [
        (generator.integers(0, 2, (min(size, times - start), clusters), np.int8) - 0.5) @ by_cluster
        for start in range(0, times, size)
    ]
    return np.concatenate(parts).reshape(times, runs, *shape).transpose(1, 0, 2, 3)


def _metric_of_sums(
    kinds: Array, counts: NDArray[np.intp], width: int, statistic: Statistic
) -> Callable[[Array], Array]:
    """The metric of resamples, from their sums by kind of sample and by column of values.

    A sum of k hits is counted as k samples with the value 1 in that column and 0 elsewhere.
    """
    units = np.concatenate([np.zeros((1, width)), np.eye(width)])
    cells = np.column_stack([np.repeat(kinds, len(units), axis=0), np.tile(units, (len(kinds), 1))])

    def metric(sums: Array) -> Array:
        others = counts - sums.sum(axis=-1)
        drawn = np.concatenate([others[..., np.newaxis], sums], axis=-1)
        return statistic(drawn.reshape(len(sums), -1), cells)

    return metric


def permutation_p(observed: float, exchanged: Array) -> float:
    """The share of permutations whose difference is at least as large, in either direction.

    The observed order is one of the permutations, so that p is never 0.
    """
    known = np.abs(exchanged[~np.isnan(exchanged)])
    if np.isnan(observed) or not known.size:
        return float("nan")
    # Equal differences can differ in their last bits.
    as_large = int((known >= abs(observed) - 1e-12).sum())
    return (as_large + 1) / (known.size + 1)


def tied_groups(order: Sequence[str], told_apart: Collection[frozenset[str]]) -> list[list[str]]:
    """The largest groups of neighbours in which a test tells no two apart.

    A run that differs from its neighbours is a group of its own.
    """
    groups: list[list[str]] = []
    end = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(
            frozenset((order[stop], other)) in told_apart for other in order[start:stop]
        ):
            stop += 1
        if stop > end:
            groups.append(list(order[start:stop]))
        end = max(end, stop)
    return groups


def permutation_count(tests: int, least: int = RESAMPLES) -> int:
    """Return how many permutations so many tests need."""
    return max(least, _PERMUTATIONS_A_TEST * tests)


def not_worse_p(difference: float, stderr: float, margin: float) -> float:
    """The one-sided p-value of `worse by the margin or more`, by the normal distribution."""
    if not stderr > 0:
        return float("nan")
    return 1 - NormalDist().cdf((difference + margin) / stderr)


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


def ratio_statistic(part: int, others: Sequence[int], empty: float) -> Statistic:
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


@dataclass(frozen=True)
class ComparedMetric:
    """A metric that is compared. Stratified means that samples are drawn within their subset."""

    name: str
    statistic: Callable[[int], Statistic]
    """A function from the first column of a run to the metric of that run."""
    column: int | None = None
    """Which value of a run is right or wrong, if the metric is a share of samples."""
    among: bool | None = None
    """Only samples with an error (True) or without one (False)."""
    stratified: bool = False


MARKS = {"mark": None, "first_error": None, "step": True, "reason": True}
"""The values of a mark. True: only solutions with an error have it."""


def compared_metrics(
    kind: str, columns: Sequence[str] | None, subsets: int
) -> list[ComparedMetric]:
    """The metrics that are compared for a kind of run, whose scores have values of these names."""
    if kind == "first_error":
        return list(_first_error_metrics(subsets))
    if kind == "error_sections":
        return list(_error_section_metrics())
    if kind == "marking" and columns is not None:
        known = enumerate(MARKS.items())
        return [
            _share_metric(f"{name}_correct_rate", column, among)
            for column, (name, among) in known
            if name in columns
        ]
    if columns is not None:
        names = {name: f"{name}_correct_rate" for name in columns}
        if kind == "attribution":
            names = {"step": "step_accuracy", "agent": "agent_accuracy", "both": "both"}
        return [_share_metric(metric, columns.index(name)) for name, metric in names.items()]
    return [_share_metric("accuracy", 0)]


def _share_metric(name: str, column: int, among: bool | None = None) -> ComparedMetric:
    where = {} if among is None else {HAS_ERROR: float(among)}
    return ComparedMetric(name, lambda start: mean_of(start + column, where), column, among)


def _f1(start: int, subset: int | None = None) -> Statistic:
    within = {} if subset is None else {SUBSET: float(subset)}
    with_error, without = ({**within, HAS_ERROR: float(which)} for which in (True, False))
    return harmonic(mean_of(start, with_error), mean_of(start, without))


def _first_error_metrics(subsets: int) -> Iterator[ComparedMetric]:
    yield ComparedMetric("f1_score", _f1)
    yield _share_metric("error_accuracy", 0, True)
    yield _share_metric("correct_accuracy", 0, False)
    yield _share_metric("accuracy", 0)
    if subsets > 1:

        def mean_subset(start: int) -> Statistic:
            return average([_f1(start, subset) for subset in range(subsets)])

        yield ComparedMetric("mean_subset_f1_score", mean_subset, stratified=True)


def _error_section_metrics() -> Iterator[ComparedMetric]:
    # The values of a sample are: f1, precision, recall, hits, false_alarms, missed.
    def macro(name: str, column: int) -> ComparedMetric:
        return ComparedMetric(name, lambda start: mean_of(start + column))

    def micro(start: int) -> Statistic:
        return harmonic(
            ratio_statistic(start + 3, [start + 4], 0.0),
            ratio_statistic(start + 3, [start + 5], float("nan")),
        )

    yield macro("f1_macro", 0)
    yield macro("precision_macro", 1)
    yield macro("recall_macro", 2)
    yield ComparedMetric("f1_micro", micro)
