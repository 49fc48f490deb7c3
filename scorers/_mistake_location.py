"""The scorer of BIG-Bench Mistake: is the place of the first mistake, or its absence, right?"""

from collections.abc import Iterator
from itertools import chain
from typing import cast

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata
from misstep.scorers._first_error import first_error
from misstep.scorers._first_error_metrics import NOT_UNPARSED
from misstep.scorers._intervals import mean_estimate, share
from misstep.verdicts import NO_ERROR, Unread

_hit = value_to_float()


@metric(name="location_metrics")
def location_metrics() -> Metric:
    """Location accuracy as published, the mean over tasks, and over all rows, with intervals."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics(scores))

    return compute


def _metrics(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    hits: dict[str, list[float]] = {}
    clusters: dict[str, list[str]] = {}
    for number, score in enumerate(scores):
        about = GroupMetadata.model_validate(score.sample_metadata or {})
        task = about.subset or ""
        hits.setdefault(task, []).append(_hit(score.score.value))
        clusters.setdefault(task, []).append(about.cluster or f"sample {number}")
    mean = mean_estimate([share(hits[task], clusters[task]) for task in hits])
    pooled = share(list(chain(*hits.values())), list(chain(*clusters.values())))
    yield "mean_task_accuracy", mean.value
    yield "accuracy", pooled.value
    answers = [score.score.answer for score in scores]
    yield "said_no", share([float(answer == str(NO_ERROR)) for answer in answers]).value
    unread = [(score.score.metadata or {}).get("unread") for score in scores]
    yield "unparsed", share([float(reason not in NOT_UNPARSED) for reason in unread]).value
    yield "truncated", share([float(reason == Unread.TRUNCATED) for reason in unread]).value
    yield "total_count", len(scores)
    yield from mean.interval("mean_task_accuracy")
    yield from pooled.interval("accuracy")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", mean.stderr


@scorer(metrics=[location_metrics()])
def mistake_location() -> Scorer:
    """Score the place of the first mistake. All rows count, also those without a mistake."""
    strict = first_error()

    async def score(state: TaskState, target: Target) -> Score:
        return cast(Score, await strict(state, target))

    return score
