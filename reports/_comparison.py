"""Comparison of runs on the same samples, pair by pair: is a difference real?"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import ceil, isnan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.registry import MisstepError, UnknownNameError
from misstep.reports._frames import dataframe
from misstep.reports._paired import (
    RESAMPLES,
    Array,
    PairedData,
    Statistic,
    average,
    harmonic,
    holm,
    jackknife_p,
    leave_one_out,
    mcnemar,
    mean_of,
    not_worse_p,
    ratio,
)
from misstep.reports._runs import Run
from misstep.reports._samples import SampleRecord, ScoreRecord
from misstep.scorers import Estimate, paired_difference

if TYPE_CHECKING:
    import pandas

EXACT, PERMUTATION, NOT_WORSE = "McNemar", "permutation", "non-inferiority"

SIGNIFICANT, POWER = 0.05, 0.8
"""The level of all tests together, and the power for which samples are counted."""
MOST_RUNS = 4
"""With more runs, only the first metric is tested."""
_PERMUTATIONS_A_TEST = 40
"""Permutations for each test at least: with fewer, no p-value could pass Holm's correction."""

_Z = NormalDist().inv_cdf(0.975)
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
    independent: Estimate
    """The difference with the interval of independent samples."""
    stderr: float
    p_holm: float = 1.0
    more_samples: int | None = None
    """How many more samples would probably decide; None if it is decided, or not known."""

    def record(self) -> dict[str, Any]:
        """The contrast as a row. The column of the metric is called `figure`."""
        values = asdict(self)
        independent = values.pop("independent")
        ends = {f"independent_{end}": independent[end] for end in ("lower", "upper")}
        return {"figure": values.pop("metric"), **values, **ends}


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
    margin: float | None
    """By how much a run may be worse and still count as not inferior, if that is tested."""
    clusters: int
    contrasts: list[Contrast]
    differing: list[DifferingSample]

    def is_decided(self, contrast: Contrast) -> bool:
        """Whether the corrected p-value is below the level."""
        return contrast.p_holm < SIGNIFICANT

    def ranking(self) -> list[tuple[str, float]]:
        """The runs by the first metric, best first."""
        values: dict[str, float] = {}
        for contrast in self.headline_contrasts:
            values |= {contrast.first: contrast.first_value, contrast.second: contrast.second_value}
        return sorted(values.items(), key=lambda item: -item[1])

    @property
    def headline_contrasts(self) -> list[Contrast]:
        """The contrasts of the first metric."""
        return [c for c in self.contrasts if c.metric == self.contrasts[0].metric]

    def tied_groups(self) -> list[list[str]]:
        """The largest groups of neighbours in the ranking of which no two are told apart."""
        told_apart = {
            frozenset((c.first, c.second)) for c in self.headline_contrasts if self.is_decided(c)
        }
        return tied_groups([name for name, _ in self.ranking()], told_apart)

    def frame(self) -> "pandas.DataFrame":
        """The contrasts as a dataframe."""
        return dataframe(contrast.record() for contrast in self.contrasts)


def tied_groups(order: Sequence[str], told_apart: Collection[frozenset[str]]) -> list[list[str]]:
    """The largest groups of neighbours of which no two are told apart."""
    groups: list[list[str]] = []
    end = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(
            frozenset((order[stop], other)) in told_apart for other in order[start:stop]
        ):
            stop += 1
        if stop > end and stop - start > 1:
            groups.append(list(order[start:stop]))
        end = max(end, stop)
    return groups


def tied_runs(runs: Sequence[Run], metric: str, reading: str = "strict") -> list[list[str]]:
    """The groups of neighbours in a ranking that cannot be told apart, as ids of runs, best first.

    The test of a pair is that of `compare` for large samples: the difference divided by its
    jackknife standard error over clusters, as a normal variable, with Holm's correction. All pairs
    of twenty runs take a second. Only samples that all runs have are counted.

    Raises:
        MisstepError: The metric has no test, or no sample is in all runs.
    """
    [scorer] = {run.scorer(reading) for run in runs}
    tables = [{s.id: s for s in run.scored if _is_usable(s, scorer)} for run in runs]
    shared = [id for id in tables[0] if all(id in table for table in tables)]
    if not shared:
        raise MisstepError("The runs have no scored sample in common.")
    paired = [[table[id] for id in shared] for table in tables]
    [wanted] = _chosen_metrics(runs, paired[0], scorer, metric)
    statistic = wanted.statistic(_FIRST_VALUE)
    own = _own_columns(paired[0])
    clusters = np.unique([sample.cluster for sample in paired[0]], return_inverse=True)[1]
    found = [
        leave_one_out(
            np.column_stack([own, [_values(sample.scores[scorer]) for sample in samples]]),
            clusters,
            statistic,
        )
        for samples in paired
    ]
    pairs = list(combinations(range(len(runs)), 2))
    ps = holm([jackknife_p(found[a], found[b]) for a, b in pairs])
    told_apart = {
        frozenset((runs[a].id, runs[b].id))
        for (a, b), p in zip(pairs, ps, strict=True)
        if p < SIGNIFICANT
    }
    order = sorted(range(len(runs)), key=lambda place: -found[place][0])
    return tied_groups([runs[place].id for place in order], told_apart)


def compare(
    runs: Sequence[Run],
    reading: str = "strict",
    common: bool = False,
    resamples: int = RESAMPLES,
    margin: float | None = None,
    metric: str | None = None,
) -> Comparison:
    """Compare runs on the samples that all of them have.

    Args:
        runs: Two or more runs.
        reading: strict, lenient or published.
        common: Allow runs that share only some of their samples.
        resamples: The number of bootstrap resamples, and of permutations.
        margin: Test whether the second run of a pair is worse by less than this.
        metric: Test only this metric. Default: all, or with more than four runs the first.

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
    metrics = _chosen_metrics(runs, paired[0], scorer, metric)
    pairs = list(combinations(range(len(runs)), 2))
    tests = len(pairs) * len(metrics)
    times = max(resamples, _PERMUTATIONS_A_TEST * tests)
    contrasts = [
        contrast
        for a, b in pairs
        for contrast in _contrasts(
            (letters[a], letters[b]), (paired[a], paired[b]), metrics, scorer, times, margin
        )
    ]
    return Comparison(
        runs=dict(zip(letters, runs, strict=True)),
        reading=reading,
        samples=len(shared),
        left_out=len(seen) - len(shared),
        resamples=times,
        margin=margin,
        clusters=len({sample.cluster for sample in paired[0]}),
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


def _chosen_metrics(
    runs: Sequence[Run], samples: Sequence[SampleRecord], scorer: str, name: str | None
) -> list[ComparedMetric]:
    subsets = len({sample.facets.get("subset", "") for sample in samples})
    metrics = compared_metrics(runs[0].kind, samples[0].scores[scorer], subsets)
    if name is not None:
        known = [metric.name for metric in metrics]
        if name not in known:
            raise UnknownNameError("metric", name, known)
        return [metric for metric in metrics if metric.name == name]
    return metrics if len(runs) <= MOST_RUNS else metrics[:1]


def _contrasts(
    letters: tuple[str, str],
    pair: tuple[Sequence[SampleRecord], Sequence[SampleRecord]],
    metrics: Sequence[ComparedMetric],
    scorer: str,
    times: int,
    margin: float | None,
) -> Iterator[Contrast]:
    rows, width = _value_rows(pair, scorer)
    second_value = _FIRST_VALUE + width
    swapped = np.column_stack(
        [rows[:, :_FIRST_VALUE], rows[:, second_value:], rows[:, _FIRST_VALUE:second_value]]
    )
    clusters = [sample.cluster for sample in pair[0]]
    grouped = PairedData(rows, swapped, clusters)
    single = PairedData(rows, swapped, range(len(rows)))
    has_clusters = len(set(clusters)) < len(clusters)
    for metric in metrics:
        statistics = metric.statistic(_FIRST_VALUE), metric.statistic(second_value)
        stratum = _SUBSET if metric.stratified else None
        found = grouped.difference(*statistics, stratum, times)
        estimate = found.estimate
        independent = estimate
        if has_clusters:
            independent = single.difference(*statistics, stratum, times).estimate
        among = np.full(len(rows), True)
        if metric.among is not None:
            among = rows[:, _HAS_ERROR] == metric.among
        own = [cluster for cluster, chosen in zip(clusters, among, strict=True) if chosen]
        test = None
        if metric.column is not None and own:
            column = _FIRST_VALUE + metric.column
            first, second = (rows[among, c].tolist() for c in (column, column + width))
            estimate = paired_difference(second, first, own)
            independent = paired_difference(second, first)
            test = mcnemar(first, second)
        exact = test is not None and len(set(own)) == len(own)
        stderr = (estimate.upper - estimate.lower) / (2 * _Z)
        p = test.p if exact and test else found.p
        name = EXACT if exact else PERMUTATION
        if margin is not None:
            name, p = NOT_WORSE, not_worse_p(estimate.value, stderr, margin)
        yield Contrast(
            metric=metric.name,
            first=letters[0],
            second=letters[1],
            samples=len(own),
            first_value=found.first,
            second_value=found.second,
            difference=estimate.value,
            lower=estimate.lower,
            upper=estimate.upper,
            only_first=test.only_first if test else None,
            only_second=test.only_second if test else None,
            test=name,
            p=p,
            independent=independent,
            stderr=stderr,
        )


def _value_rows(
    pair: tuple[Sequence[SampleRecord], Sequence[SampleRecord]], scorer: str
) -> tuple[Array, int]:
    """One row per sample: its subset, whether it has an error, then the values of each run."""
    values = [np.array([_values(sample.scores[scorer]) for sample in run]) for run in pair]
    return np.column_stack([_own_columns(pair[0]), *values]), values[0].shape[1]


def _own_columns(samples: Sequence[SampleRecord]) -> Array:
    """The subset of each sample by its number, and whether it has an error."""
    subsets = sorted({sample.facets.get("subset", "") for sample in samples})
    places = {subset: place for place, subset in enumerate(subsets)}
    own = [[places[one.facets.get("subset", "")], float(one.has_error)] for one in samples]
    return np.array(own, dtype=float)


def _values(score: ScoreRecord) -> list[float]:
    return list(score.value.values()) if isinstance(score.value, dict) else [score.value]


def _is_usable(sample: SampleRecord, scorer: str) -> bool:
    """Whether a sample has a score by that scorer with all of its values."""
    score = sample.scores.get(scorer)
    return score is not None and not score.left_out and not any(map(isnan, _values(score)))


def _corrected(contrasts: Sequence[Contrast]) -> Iterator[Contrast]:
    """Correct all p-values for their number, and count the samples that would decide."""
    known = [contrast for contrast in contrasts if not isnan(contrast.p)]
    corrected = iter(holm([contrast.p for contrast in known]))
    for contrast in contrasts:
        p_holm = float("nan") if isnan(contrast.p) else next(corrected)
        more = None
        if contrast.test != NOT_WORSE and not p_holm < SIGNIFICANT:
            more = _more_samples(contrast, SIGNIFICANT / max(1, len(known)))
        yield replace(contrast, p_holm=p_holm, more_samples=more)


def _more_samples(contrast: Contrast, level: float) -> int | None:
    """How many more samples a test at this level needs, if the difference is as seen.

    The standard error falls with the root of the number of samples. The normal test has the power
    POWER if the difference is the sum of two quantiles, in standard errors.
    """
    if not contrast.difference or isnan(contrast.stderr):
        return None
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)
    needed = contrast.samples * (reach * contrast.stderr / contrast.difference) ** 2
    return max(1, ceil(needed - contrast.samples))


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
