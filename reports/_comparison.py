"""Comparison of runs on the same samples: is a difference real, and which runs are tied?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil, isnan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.registry import MisstepError, UnknownNameError
from misstep.reports._paired import (
    FIRST_VALUE,
    HAS_ERROR,
    MARKS,
    RESAMPLES,
    SUBSET,
    Array,
    ComparedMetric,
    PairedData,
    compared_metrics,
    exchange_ps,
    holm,
    mcnemar,
    not_worse_p,
    permutation_count,
    tied_groups,
)
from misstep.reports._runs import Run, dataframe
from misstep.reports._samples import SampleRecord, ScoreRecord
from misstep.scorers import Estimate, paired_difference

if TYPE_CHECKING:
    import pandas

SIGNIFICANT = 0.05
"""The significance level, after correction for the number of tests."""
EXACT, PERMUTATION, NOT_WORSE = "McNemar", "permutation", "non-inferiority"

POWER = 0.8
"""The power for which `more_samples` is computed."""
MOST_RUNS = 4
"""With more runs, only the first metric is tested."""

LETTER = r"[a-z]|\(\d+\)"
"""A pattern for one letter of a run."""

_Z = NormalDist().inv_cdf(0.975)


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
    """Whether a sample has a complete score by that scorer."""
    score = sample.scores.get(scorer)
    return score is not None and not score.left_out and not any(map(isnan, _values(score)))


@dataclass(frozen=True)
class Contrast:
    """The difference of two runs in one metric. Runs are named by letters."""

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
    """How many more samples would probably show a difference; None if it is shown or unknown."""

    def record(self) -> dict[str, Any]:
        """The contrast as a row."""
        values = asdict(self)
        independent = values.pop("independent")
        ends = {f"independent_{end}": independent[end] for end in ("lower", "upper")}
        return {**values, **ends}


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
        groups = tied_groups([name for name, _ in self.ranking()], told_apart)
        return [group for group in groups if len(group) > 1]

    def frame(self) -> "pandas.DataFrame":
        """The contrasts as a dataframe."""
        return dataframe(contrast.record() for contrast in self.contrasts)


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
    _refuse_different_data(runs, common)
    shared = SharedSamples.of(runs, reading)
    seen = {sample.id for run in runs for sample in run.samples}
    letters = [chr(ord("A") + i) if i < 26 else f"R{i + 1}" for i in range(len(runs))]
    metrics = shared.metrics(metric)[: None if len(runs) <= MOST_RUNS else 1]
    pairs = list(combinations(range(len(runs)), 2))
    times = permutation_count(len(pairs) * len(metrics), resamples)
    contrasts = [
        contrast
        for a, b in pairs
        for contrast in _contrasts((letters[a], letters[b]), shared, (a, b), metrics, times, margin)
    ]
    return Comparison(
        runs=dict(zip(letters, runs, strict=True)),
        reading=reading,
        samples=len(shared.samples),
        left_out=len(seen) - len(shared.samples),
        resamples=times,
        margin=margin,
        clusters=len(set(shared.clusters)),
        contrasts=list(_corrected(contrasts)),
        differing=list(_differing_samples(shared)),
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


def _contrasts(
    letters: tuple[str, str],
    shared: SharedSamples,
    pair: tuple[int, int],
    metrics: Sequence[ComparedMetric],
    times: int,
    margin: float | None,
) -> Iterator[Contrast]:
    values = [shared.values[place] for place in pair]
    width = values[0].shape[1]
    second_value = FIRST_VALUE + width
    rows = np.column_stack([shared.own, *values])
    swapped = np.column_stack([shared.own, *reversed(values)])
    clusters = shared.clusters
    grouped = PairedData(rows, swapped, clusters)
    single = PairedData(rows, swapped, range(len(rows)))
    has_clusters = len(set(clusters)) < len(clusters)
    for metric in metrics:
        statistics = metric.statistic(FIRST_VALUE), metric.statistic(second_value)
        stratum = SUBSET if metric.stratified else None
        found = grouped.difference(*statistics, stratum, times)
        estimate = found.estimate
        independent = estimate
        if has_clusters:
            independent = single.difference(*statistics, stratum, times).estimate
        among = np.full(len(rows), True)
        if metric.among is not None:
            among = rows[:, HAS_ERROR] == metric.among
        own = [cluster for cluster, chosen in zip(clusters, among, strict=True) if chosen]
        test = None
        if metric.column is not None and own:
            column = FIRST_VALUE + metric.column
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


def _corrected(contrasts: Sequence[Contrast]) -> Iterator[Contrast]:
    """Correct all p-values for their number; add how many more samples would show a difference."""
    known = [contrast for contrast in contrasts if not isnan(contrast.p)]
    corrected = iter(holm([contrast.p for contrast in known]))
    for contrast in contrasts:
        p_holm = float("nan") if isnan(contrast.p) else next(corrected)
        more = None
        if contrast.test != NOT_WORSE and not p_holm < SIGNIFICANT:
            more = _more_samples(contrast, SIGNIFICANT / max(1, len(known)))
        yield replace(contrast, p_holm=p_holm, more_samples=more)


def _more_samples(contrast: Contrast, level: float) -> int | None:
    """How many more samples a test at this level needs, if the true difference is the observed one.

    The standard error falls with the root of the number of samples. The normal test has the power
    POWER if the difference is the sum of two quantiles, in standard errors.
    """
    if not contrast.difference or isnan(contrast.stderr):
        return None
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)
    needed = contrast.samples * (reach * contrast.stderr / contrast.difference) ** 2
    return max(1, ceil(needed - contrast.samples))


def _differing_samples(shared: SharedSamples) -> Iterator[DifferingSample]:
    for same in zip(*shared.of_runs, strict=True):
        scores = [sample.scores[shared.scorer] for sample in same]
        if any(score.value != scores[0].value for score in scores):
            yield DifferingSample(
                id=same[0].id,
                subset=same[0].facets.get("subset", ""),
                target=same[0].target,
                answers=tuple(score.answer for score in scores),
                hits=tuple(score.hit for score in scores),
            )


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
