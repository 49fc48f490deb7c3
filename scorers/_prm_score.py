"""PRMScore: the mean of two F1 scores over pooled steps, by class and group.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.loaders import PRMBENCH_GROUPS as GROUPS
from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata
from misstep.scorers._first_error_metrics import NOT_UNPARSED
from misstep.scorers._intervals import Draws, Estimate, from_draws, multinomial_draws, share
from misstep.verdicts import Unread

COUNTS = ("tp", "fp", "tn", "fn")
LEFT_OUT = "left_out"
"""The key of a score's metadata that says why the published rule leaves the sample out."""

F1_ALONE = "multi_solutions"
"""The class without wrong steps: its PRMScore is the F1 of valid steps alone."""


@dataclass(frozen=True)
class PrmScoreSample:
    """What the metrics need of one scored sample."""

    counts: tuple[float, ...]
    """TP, FP, TN and FN."""
    subset: str | None
    cluster: str
    unread: str | None
    left_out: bool


@dataclass(frozen=True)
class PrmScore:
    """PRMScore and its two parts; nan if undefined."""

    prmscore: float
    f1: float
    negative_f1: float


_REGISTERED = (
    *("prmscore", "f1", "negative_f1", *GROUPS, "unparsed", "truncated", "total_count"),
    *("prmscore_lower", "prmscore_upper", "stderr"),
)
_REGISTERED_PUBLISHED = ("prmscore", "f1", "negative_f1")


@metric(name="prm_score_metrics")
def prm_score_metrics(published: bool = False) -> Metric:
    """PRMScore with its interval, its parts, the three groups, and shares of unread rows."""

    def compute(scores: list[SampleScore]) -> Value:
        found = prm_score_table(scores, published)
        names = _REGISTERED_PUBLISHED if published else _REGISTERED
        return {name: found[name] for name in names if name in found}

    return compute


def prm_score_table(scores: Sequence[SampleScore], published: bool = False) -> dict[str, float]:
    """Return every metric of PRMBench. A run's results have the main ones."""
    return metric_values(_metrics(prm_score_samples(scores), published))


def prm_score_samples(scores: Sequence[SampleScore]) -> list[PrmScoreSample]:
    """Return what the metrics need of scored samples."""
    return [_sample(score) for score in scores]


def _sample(scored: SampleScore) -> PrmScoreSample:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    about = GroupMetadata.model_validate(scored.sample_metadata or {})
    return PrmScoreSample(
        counts=tuple(float(cast(float, values[name])) for name in COUNTS),
        subset=about.subset,
        cluster=about.cluster or str(scored.sample_id),
        unread=metadata.get("unread"),
        left_out=LEFT_OUT in metadata,
    )


def _metrics(samples: list[PrmScoreSample], published: bool) -> Iterator[tuple[str, float]]:
    kept = [sample for sample in samples if not sample.left_out]
    scores = prm_scores(kept, published)
    overall = _interval(kept, scores["overall"].prmscore, published)
    yield "prmscore", overall.value
    yield "f1", scores["overall"].f1
    yield "negative_f1", scores["overall"].negative_f1
    for group in GROUPS:
        yield group, scores[group].prmscore if group in scores else nan
    unparsed = [float(sample.unread not in NOT_UNPARSED) for sample in samples]
    yield "unparsed", share(unparsed).value
    yield "truncated", share([float(one.unread == Unread.TRUNCATED) for one in samples]).value
    yield "step_count", sum(sum(sample.counts) for sample in kept)
    yield "total_count", len(samples)
    yield from overall.interval("prmscore")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", overall.stderr


def prm_scores(samples: Sequence[PrmScoreSample], published: bool = False) -> dict[str, PrmScore]:
    """Return the PRMScore of all samples (`overall`), of each class, and of each complete group.

    A group's PRMScore is the plain mean of its classes; `overall` is computed from the pooled
    counts. `published` keeps the arithmetic of PRMBench's code where a ratio is undefined.
    """
    by_class = {
        name: [one for one in samples if one.subset == name]
        for name in sorted({one.subset for one in samples if one.subset is not None})
    }
    found = {"overall": _prm_score(_pooled(samples), published)}
    for name, members in by_class.items():
        found[name] = _prm_score(_pooled(members), published, alone=name == F1_ALONE)
    return found | _group_scores(found)


def _group_scores(found: Mapping[str, PrmScore]) -> dict[str, PrmScore]:
    groups: dict[str, PrmScore] = {}
    for group, classes in GROUPS.items():
        own = [found[name].prmscore for name in classes if name in found]
        if len(own) == len(classes):
            groups[group] = PrmScore(sum(own) / len(own), nan, nan)
    return groups


def _pooled(samples: Sequence[PrmScoreSample]) -> tuple[float, ...]:
    return tuple(sum(one.counts[i] for one in samples) for i in range(len(COUNTS)))


def _prm_score(counts: Sequence[float], published: bool, alone: bool = False) -> PrmScore:
    tp, fp, tn, fn = counts
    f1 = (_published_f1 if published else _f1)(tp, fp, fn)
    negative = (_published_f1 if published else _f1)(tn, fn, fp)
    value = f1 if alone else (f1 + negative) / 2
    return PrmScore(max(0.0, value) if published else value, f1, negative)


def _f1(hits: float, false_alarms: float, missed: float) -> float:
    total = 2 * hits + false_alarms + missed
    return 2 * hits / total if total else nan


def _published_f1(hits: float, false_alarms: float, missed: float) -> float:
    """Return F1 as PRMBench's code computes it: an undefined ratio is -1 and stays in the sums."""
    precision = hits / (hits + false_alarms) if hits + false_alarms else -1.0
    recall = hits / (hits + missed) if hits + missed else -1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else -1.0


def _interval(samples: Sequence[PrmScoreSample], value: float, published: bool) -> Estimate:
    """Return the overall PRMScore with its interval, by a bootstrap over problems."""
    import numpy as np

    if not samples or isnan(value):
        return Estimate(value, nan, nan)
    clusters: dict[str, list[float]] = {}
    for sample in samples:
        sums = clusters.setdefault(sample.cluster, [0.0] * len(COUNTS))
        for i, count in enumerate(sample.counts):
            sums[i] += count
    cells, counts = np.unique(np.array(list(clusters.values())), axis=0, return_counts=True)
    tp, fp, tn, fn = (multinomial_draws(counts) @ cells).T
    draws = (_f1_draws(tp, fp, fn) + _f1_draws(tn, fn, fp)) / 2
    return from_draws(value, draws, len(clusters))


def _f1_draws(hits: Draws, false_alarms: Draws, missed: Draws) -> Draws:
    import numpy as np

    total = 2 * hits + false_alarms + missed
    f1: Draws = np.full(hits.shape, nan)
    np.divide(2 * hits, total, out=f1, where=total > 0)
    return f1
