"""Comparison of runs on the same samples, pair by pair: is a difference real?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.registry import MisstepError
from misstep.reports._frames import dataframe
from misstep.reports._paired import (
    RESAMPLES,
    Array,
    Statistic,
    average,
    bootstrap,
    harmonic,
    holm,
    mcnemar,
    mean_of,
    ratio,
)
from misstep.reports._runs import Run
from misstep.reports._samples import SampleRecord, ScoreRecord

if TYPE_CHECKING:
    import pandas

EXACT, BOOTSTRAP = "McNemar", "bootstrap"

_SUBSET, _HAS_ERROR = 0, 1
_FIRST_VALUE = 2
"""Columns of a sample: its subset, whether it has an error, then the values of both runs."""


@dataclass(frozen=True)
class Contrast:
    """One metric of two runs, which are named by letters."""

    metric: str
    first: str
    second: str
    samples: int
    first_value: float
    second_value: float
    difference: float
    lower: float
    upper: float
    only_first: int | None
    """Samples that only the first run has right; None if samples are not just right or wrong."""
    only_second: int | None
    test: str
    p: float
    p_holm: float = 1.0

    def record(self) -> dict[str, Any]:
        """The contrast as a row. The column of the metric is called `figure`."""
        values = asdict(self)
        return {"figure": values.pop("metric"), **values}


@dataclass(frozen=True)
class DifferingSample:
    """A sample for which the runs have different scores."""

    id: str
    subset: str
    target: str
    answers: tuple[str | None, ...]
    hits: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """Runs on the same samples, by letter, compared in pairs."""

    runs: dict[str, Run]
    reading: str
    samples: int
    left_out: int
    """Samples for which a run has no score."""
    resamples: int
    contrasts: list[Contrast]
    differing: list[DifferingSample]

    def frame(self) -> "pandas.DataFrame":
        """The contrasts as a dataframe."""
        return dataframe(contrast.record() for contrast in self.contrasts)


def compare(
    runs: Sequence[Run], reading: str = "strict", common: bool = False, resamples: int = RESAMPLES
) -> Comparison:
    """Compare runs on the samples that all of them have.

    Args:
        runs: Two or more runs.
        reading: strict, lenient or published.
        common: Allow runs that share only some of their samples.
        resamples: The number of bootstrap resamples.

    Raises:
        MisstepError: The runs differ in eval, version, data or kind, or lack the reading.
    """
    if len(runs) < 2:
        raise MisstepError("One run cannot be compared: name two logs or more.")
    _refuse_different_evals(runs)
    # Runs of one kind have the same scorer for a reading.
    [scorer] = {run.scorer(reading) for run in runs}
    _refuse_different_data(runs, common)
    tables = [{s.id: s for s in run.scored if _is_usable(s, scorer)} for run in runs]
    shared = [id for id in tables[0] if all(id in table for table in tables)]
    if not shared:
        raise MisstepError("The runs have no scored sample in common.")
    seen = {sample.id for run in runs for sample in run.samples}
    paired = [[table[id] for id in shared] for table in tables]
    letters = [chr(ord("A") + i) if i < 26 else f"R{i + 1}" for i in range(len(runs))]
    contrasts = [
        contrast
        for a, b in combinations(range(len(runs)), 2)
        for contrast in _contrasts(
            (letters[a], letters[b]), (paired[a], paired[b]), runs[0].kind, scorer, resamples
        )
    ]
    return Comparison(
        runs=dict(zip(letters, runs, strict=True)),
        reading=reading,
        samples=len(shared),
        left_out=len(seen) - len(shared),
        resamples=resamples,
        contrasts=list(_corrected(contrasts)),
        differing=list(_differing_samples(paired, scorer)),
    )


def _refuse_different_evals(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("evals", first.eval, run.eval),
            ("versions", first.version, run.version),
            ("scores", first.kind, run.kind),
        ):
            if one != other:
                raise MisstepError(
                    f"Different {what}: {first.location} has {one!r}, {run.location} has "
                    f"{other!r}. Their metrics are not comparable."
                )


def _refuse_different_data(runs: Sequence[Run], common: bool) -> None:
    first = {sample.id: sample for sample in runs[0].samples}
    for run in runs[1:]:
        ids = {sample.id for sample in run.samples}
        if ids != first.keys() and not common:
            raise MisstepError(
                f"Different data: {runs[0].location} has {len(first):,} samples, {run.location} "
                f"has {len(ids):,}, and {len(ids & first.keys()):,} are in both. To compare only "
                "the samples in both, add --common."
            )
        for sample in run.samples:
            other = first.get(sample.id)
            if other and (other.target, other.text) != (sample.target, sample.text):
                what = "target" if other.target != sample.target else "problem"
                raise MisstepError(
                    f"Different data: the sample {sample.id!r} has another {what} in "
                    f"{runs[0].location} than in {run.location}."
                )


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


def compared_metrics(kind: str, score: ScoreRecord, subsets: int) -> list[ComparedMetric]:
    """The metrics that are compared for a kind of run. Any score has the names of its values."""
    if kind == "first_error":
        return _first_error_metrics(subsets)
    if kind == "error_sections":
        return _error_section_metrics()
    if isinstance(score.value, dict):
        return [_share_metric(f"{name}_correct_rate", i) for i, name in enumerate(score.value)]
    return [_share_metric("accuracy", 0)]


def _share_metric(name: str, column: int, among: bool | None = None) -> ComparedMetric:
    where = {} if among is None else {_HAS_ERROR: float(among)}
    return ComparedMetric(name, lambda start: mean_of(start + column, where), column, among)


def _f1(start: int, subset: int | None = None) -> Statistic:
    within = {} if subset is None else {_SUBSET: float(subset)}
    with_error, without = ({**within, _HAS_ERROR: float(which)} for which in (True, False))
    return harmonic(mean_of(start, with_error), mean_of(start, without))


def _first_error_metrics(subsets: int) -> list[ComparedMetric]:
    metrics = [
        ComparedMetric("f1_score", _f1),
        _share_metric("error_accuracy", 0, True),
        _share_metric("correct_accuracy", 0, False),
        _share_metric("accuracy", 0),
    ]
    if subsets > 1:

        def mean_subset(start: int) -> Statistic:
            return average([_f1(start, subset) for subset in range(subsets)])

        metrics.append(ComparedMetric("mean_subset_f1_score", mean_subset, stratified=True))
    return metrics


def _error_section_metrics() -> list[ComparedMetric]:
    # The values of a sample are: f1, precision, recall, hits, false_alarms, missed.
    def macro(name: str, column: int) -> ComparedMetric:
        return ComparedMetric(name, lambda start: mean_of(start + column))

    def micro(start: int) -> Statistic:
        return harmonic(
            ratio(start + 3, [start + 4], 0.0), ratio(start + 3, [start + 5], float("nan"))
        )

    return [
        macro("f1_macro", 0),
        macro("precision_macro", 1),
        macro("recall_macro", 2),
        ComparedMetric("f1_micro", micro),
    ]


def _contrasts(
    letters: tuple[str, str],
    pair: tuple[Sequence[SampleRecord], Sequence[SampleRecord]],
    kind: str,
    scorer: str,
    resamples: int,
) -> Iterator[Contrast]:
    rows, width = _value_rows(pair, scorer)
    subsets = len({sample.facets.get("subset", "") for sample in pair[0]})
    for metric in compared_metrics(kind, pair[0][0].scores[scorer], subsets):
        first = metric.statistic(_FIRST_VALUE)
        second = metric.statistic(_FIRST_VALUE + width)
        strata = rows[:, _SUBSET] if metric.stratified else None
        found = bootstrap(rows, first, second, strata, resamples)
        among = rows if metric.among is None else rows[rows[:, _HAS_ERROR] == metric.among]
        test = None
        if metric.column is not None and len(among):
            column = _FIRST_VALUE + metric.column
            test = mcnemar(among[:, column].tolist(), among[:, column + width].tolist())
        yield Contrast(
            metric=metric.name,
            first=letters[0],
            second=letters[1],
            samples=len(among),
            first_value=found.first,
            second_value=found.second,
            difference=found.estimate.value,
            lower=found.estimate.lower,
            upper=found.estimate.upper,
            only_first=test.only_first if test else None,
            only_second=test.only_second if test else None,
            test=EXACT if test else BOOTSTRAP,
            p=test.p if test else found.p,
        )


def _value_rows(
    pair: tuple[Sequence[SampleRecord], Sequence[SampleRecord]], scorer: str
) -> tuple[Array, int]:
    """One row per sample: its subset, whether it has an error, then the values of each run."""
    subsets = sorted({sample.facets.get("subset", "") for sample in pair[0]})
    own = [[subsets.index(s.facets.get("subset", "")), float(s.has_error)] for s in pair[0]]
    values = [np.array([_values(sample.scores[scorer]) for sample in run]) for run in pair]
    return np.column_stack([np.array(own), *values]), values[0].shape[1]


def _values(score: ScoreRecord) -> list[float]:
    return list(score.value.values()) if isinstance(score.value, dict) else [score.value]


def _is_usable(sample: SampleRecord, scorer: str) -> bool:
    """Whether a sample has a score by that scorer with all of its values."""
    score = sample.scores.get(scorer)
    return score is not None and not score.left_out and not any(map(isnan, _values(score)))


def _corrected(contrasts: Sequence[Contrast]) -> Iterator[Contrast]:
    """Correct the p-values of each metric for the number of pairs."""
    by_metric: dict[str, list[Contrast]] = {}
    for contrast in contrasts:
        by_metric.setdefault(contrast.metric, []).append(contrast)
    holms = {name: iter(holm([c.p for c in group])) for name, group in by_metric.items()}
    for contrast in contrasts:
        yield replace(contrast, p_holm=next(holms[contrast.metric]))


def _differing_samples(
    paired: Sequence[Sequence[SampleRecord]], scorer: str
) -> Iterator[DifferingSample]:
    for same in zip(*paired, strict=True):
        scores = [sample.scores[scorer] for sample in same]
        if any(score.value != scores[0].value for score in scores):
            yield DifferingSample(
                id=same[0].id,
                subset=same[0].facets.get("subset", ""),
                target=same[0].target,
                answers=tuple(score.answer for score in scores),
                hits=tuple(score.hit for score in scores),
            )
