"""Runs on the same samples as arrays, the metrics that are compared, and runs that are tied."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan

import numpy as np

from misstep.registry import MisstepError, UnknownNameError
from misstep.reports._paired import (
    RESAMPLES,
    Array,
    Statistic,
    average,
    exchange_ps,
    harmonic,
    holm,
    mean_of,
    ratio,
)
from misstep.reports._runs import Run
from misstep.reports._samples import SampleRecord, ScoreRecord

SIGNIFICANT = 0.05
"""The level of all tests together."""
_PERMUTATIONS_A_TEST = 40
"""Permutations for each test at least: with fewer, no p-value could pass Holm's correction."""

SUBSET, HAS_ERROR = 0, 1
FIRST_VALUE = 2
"""Columns of a sample: its subset, whether it has an error, then the values of one run or two."""


@dataclass(frozen=True)
class ComparedMetric:
    """A metric that is compared. Stratified means that samples are drawn within their subset."""

    name: str
    statistic: Callable[[int], Statistic]
    """From the first column of a run, the metric of that run."""
    column: int | None = None
    """Which value of a run is right or wrong, if the metric is a share of samples."""
    among: bool | None = None
    """Only samples with an error (True) or without one (False)."""
    stratified: bool = False


@dataclass(frozen=True)
class SharedSamples:
    """The samples that all runs have with a score, in one order."""

    kind: str
    scorer: str
    of_runs: list[list[SampleRecord]]

    @classmethod
    def of(cls, runs: Sequence[Run], reading: str) -> "SharedSamples":
        """Return the samples of runs of one kind; an error if they have none in common."""
        # Runs of one kind have the same scorer for a reading.
        [scorer] = {run.scorer(reading) for run in runs}
        tables = [{s.id: s for s in run.scored if _is_usable(s, scorer)} for run in runs]
        shared = [id for id in tables[0] if all(id in table for table in tables)]
        if not shared:
            raise MisstepError("The runs have no scored sample in common.")
        return cls(runs[0].kind, scorer, [[table[id] for id in shared] for table in tables])

    @property
    def samples(self) -> list[SampleRecord]:
        """The samples of the first run."""
        return self.of_runs[0]

    @cached_property
    def clusters(self) -> list[str]:
        """The cluster of each sample."""
        return [sample.cluster for sample in self.samples]

    @cached_property
    def own(self) -> Array:
        """The subset of each sample by its number, and whether it has an error."""
        subsets = sorted({sample.facets.get("subset", "") for sample in self.samples})
        places = {subset: place for place, subset in enumerate(subsets)}
        own = [[places[one.facets.get("subset", "")], float(one.has_error)] for one in self.samples]
        return np.array(own, dtype=float)

    @cached_property
    def values(self) -> list[Array]:
        """The values of each run: a row for each sample."""
        return [
            np.array([_values(sample.scores[self.scorer], self.columns) for sample in samples])
            for samples in self.of_runs
        ]

    @cached_property
    def columns(self) -> list[str] | None:
        """The names of the values that all runs have; None if a score is one number."""
        # Some scores of a run may lack a value, such as the reason without a grader.
        of_runs = [
            dict.fromkeys(name for one in samples for name in _names(one.scores[self.scorer]))
            for samples in self.of_runs
        ]
        if not any(of_runs):
            return None
        return [name for name in of_runs[0] if all(name in one for one in of_runs)]

    def metrics(self, name: str | None = None) -> list[ComparedMetric]:
        """Return all metrics that are compared, or one by its name."""
        subsets = len({sample.facets.get("subset", "") for sample in self.samples})
        metrics = compared_metrics(self.kind, self.columns, subsets)
        if name is None:
            return metrics
        known = [metric.name for metric in metrics]
        if name not in known:
            raise UnknownNameError("metric", name, known)
        return [metric for metric in metrics if metric.name == name]


MARKS = {"mark": None, "first_error": None, "step": True, "reason": True}
"""The values of a mark; True for those that only solutions with an error have."""


def _names(score: ScoreRecord) -> list[str]:
    return list(score.value) if isinstance(score.value, dict) else []


def _values(score: ScoreRecord, columns: Sequence[str] | None = None) -> list[float]:
    """Return the values of a score: those with these names, or all."""
    if not isinstance(score.value, dict):
        return [score.value]
    if "mark" in score.value:
        return [score.value.get(name, 0.0) for name in MARKS]
    return [score.value[name] for name in (score.value if columns is None else columns)]


def _is_usable(sample: SampleRecord, scorer: str) -> bool:
    """Whether a sample has a score by that scorer with all of its values."""
    score = sample.scores.get(scorer)
    return score is not None and not score.left_out and not any(map(isnan, _values(score)))


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
            ratio(start + 3, [start + 4], 0.0), ratio(start + 3, [start + 5], float("nan"))
        )

    yield macro("f1_macro", 0)
    yield macro("precision_macro", 1)
    yield macro("recall_macro", 2)
    yield ComparedMetric("f1_micro", micro)


def permutation_count(tests: int, least: int = RESAMPLES) -> int:
    """Return how many permutations so many tests need."""
    return max(least, _PERMUTATIONS_A_TEST * tests)


def tied_groups(order: Sequence[str], told_apart: Collection[frozenset[str]]) -> list[list[str]]:
    """The largest groups of neighbours of which no two are told apart.

    A run that is told apart from its neighbours is a group of its own.
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


def group_letters(runs: Sequence[Run], metric: str, reading: str = "strict") -> dict[str, str]:
    """The letters of each run by its id, best first: runs that share one cannot be told apart.

    Every pair is tested by the permutation test of `compare`, with Holm's correction, on the
    samples that all runs have. Empty if the metric has no test, or if there is one run.
    """
    if len(runs) < 2:
        return {}
    try:
        shared = SharedSamples.of(runs, reading)
        [wanted] = shared.metrics(metric)
    except MisstepError:
        return {}
    pairs = list(combinations(range(len(runs)), 2))
    values, ps = exchange_ps(
        shared.own,
        shared.values,
        np.unique(shared.clusters, return_inverse=True)[1],
        wanted.statistic(FIRST_VALUE),
        permutation_count(len(pairs)),
    )
    known = [pair for pair in pairs if not isnan(ps[pair])]
    corrected = zip(known, holm([ps[pair] for pair in known]), strict=True)
    told_apart = {frozenset((runs[a].id, runs[b].id)) for (a, b), p in corrected if p < SIGNIFICANT}
    order = sorted(range(len(runs)), key=lambda place: -values[place])
    letters: dict[str, str] = {}
    for number, group in enumerate(tied_groups([runs[place].id for place in order], told_apart)):
        letter = chr(ord("a") + number) if number < 26 else f"({number + 1})"
        for run in group:
            letters[run] = letters.get(run, "") + letter
    return letters


LETTER = r"[a-z]|\(\d+\)"
"""One of the letters of a run."""
