"""Does a critic find the place of an error? Scorers for sets that count verdicts in their own way.

Injected errors are found, missed or false alarms. BIG-Bench Mistake counts the accuracy of each
task. Transcripts without labels only have the step that the critic names.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
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
from misstep.samples import GroupMetadata, InjectionMetadata, SolutionMetadata
from misstep.scorers._first_error import (
    FirstErrorSample,
    first_error,
    first_error_estimates,
    first_error_table,
    scored_first_error,
    unread_shares,
    votes_of,
)
from misstep.scorers._intervals import Estimate, mean_estimate, metric_from, share
from misstep.scorers._votes import REASONS, UNREAD_TEXT, tally
from misstep.stores import critic_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

ACCURACY = "first_error_accuracy"
_OUTCOME = "outcome"


class Detection(StrEnum):
    """The outcome of a verdict. Each sample has exactly one."""

    CORRECT = "correct_detections"
    """The first wrong step."""
    FALSE_POSITIVE = "false_positives"
    """A step before the error, or any step of an untouched solution."""
    MISSED = "missed_errors"
    """No error, or a step after the error."""
    PASSED = "passed_untouched"
    """No error, in an untouched solution."""
    UNREAD = "unread"
    """No verdict was read."""

    @property
    def label(self) -> str:
        """The outcome of one sample, in words."""
        return _LABELS[self]


_LABELS = {
    Detection.CORRECT: "Found the error",
    Detection.FALSE_POSITIVE: "A false alarm",
    Detection.MISSED: "Missed the error",
    Detection.PASSED: "Accepted an untouched solution",
    Detection.UNREAD: "Unread",
}


def detection(verdict: Verdict | None, label: Verdict) -> Detection:
    """Return the outcome of a verdict against a label; None means that no verdict was read."""
    if verdict is None:
        return Detection.UNREAD
    if label == NO_ERROR:
        return Detection.PASSED if verdict == NO_ERROR else Detection.FALSE_POSITIVE
    if verdict == label:
        return Detection.CORRECT
    return Detection.FALSE_POSITIVE if 0 <= verdict < label else Detection.MISSED


@metric(name="detection_metrics")
def detection_metrics() -> Metric:
    """The share of errors found with its interval, and F1 with its other part."""
    return metric_from(_detection_metrics)


@metric(name="outcome_metrics", scores="unreduced")
def outcome_metrics() -> Metric:
    """The number of each outcome, over all epochs."""

    def compute(scores: list[SampleScore]) -> Value:
        counts = outcome_counts(scores)
        del counts[Detection.PASSED.value]
        return {**counts, "truncated": unread_shares(scores)["truncated"]}

    return compute


def _detection_metrics(scores: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    samples = [scored_first_error(score, number) for number, score in enumerate(scores)]
    estimates = first_error_estimates(samples)
    found = estimates["error_accuracy"]
    yield ACCURACY, found.value
    yield from found.interval(ACCURACY)
    yield "correct_accuracy", estimates["correct_accuracy"].value
    yield "f1_score", estimates["f1_score"].value
    yield from estimates["f1_score"].interval("f1_score")
    yield "stderr", found.stderr


def outcome_counts(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return the number of scores, of scores on errors, and of each outcome."""
    outcomes = Counter((one.score.metadata or {}).get(_OUTCOME, Detection.UNREAD) for one in epochs)
    errors = sum(bool((one.sample_metadata or {}).get("has_error")) for one in epochs)
    return {
        "total": len(epochs),
        "errors": errors,
        **{outcome.value: outcomes[outcome.value] for outcome in Detection},
    }


def detection_table(
    scores: Sequence[SampleScore], epochs: Sequence[SampleScore]
) -> dict[str, float]:
    """Return every metric of a set with injected errors, also by type of error and by position.

    Args:
        scores: One score for each sample: epochs are reduced.
        epochs: The scores of all epochs.
    """
    return {
        **first_error_table(scores, epochs),
        **outcome_counts(epochs),
        **metric_values(_accuracies(scores)),
    }


def _accuracies(scores: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    wrong = [
        (sample, InjectionMetadata.model_validate(score.sample_metadata or {}))
        for number, score in enumerate(scores)
        if (sample := scored_first_error(score, number)).has_error
    ]
    everything = [sample for sample, _ in wrong]
    yield from _accuracy("", everything)
    yield "stderr", _estimate(everything).stderr
    for name in sorted({about.error_type for _, about in wrong if about.error_type}):
        yield from _accuracy(f"{name}_", [one for one, about in wrong if about.error_type == name])
    for name in ("early", "middle", "late"):
        members = [one for one, about in wrong if about.position_third == name]
        if members:
            yield from _accuracy(f"{name}_", members)


def _estimate(wrong: Sequence[FirstErrorSample]) -> Estimate:
    return share([one.hit for one in wrong], [one.cluster for one in wrong])


def _accuracy(prefix: str, wrong: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    estimate = _estimate(wrong)
    name = f"{prefix}{ACCURACY}"
    yield name, estimate.value
    if prefix:
        yield f"{prefix}total", len(wrong)
    yield from estimate.interval(name)


@scorer(metrics=[detection_metrics(), outcome_metrics()])
def detections(votes: int = 1, weighted: bool = False) -> Scorer:
    """Score the first wrong step, read strictly, and name the outcome.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
    """
    strict = first_error(votes, weighted)

    async def score(state: TaskState, target: Target) -> Score:
        read = cast(Score, await strict(state, target))
        verdict = None if read.answer is None else int(read.answer)
        outcome = detection(verdict, int(target.text))
        read.metadata = {**(read.metadata or {}), _OUTCOME: outcome.value}
        read.explanation = f"{outcome.label}. {read.explanation}"
        return read

    return score


_hit = value_to_float()


@metric(name="location_metrics")
def location_metrics() -> Metric:
    """Location accuracy as published, the mean over tasks, and over all rows, with intervals."""
    return metric_from(_location_metrics)


def _location_metrics(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
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
    yield "total_count", len(scores)
    yield from mean.interval("mean_task_accuracy")
    yield from pooled.interval("accuracy")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", mean.stderr


@metric(name="location_replies", scores="unreduced")
def location_replies() -> Metric:
    """The share of replies that name no mistake, and the shares of unread replies."""

    def compute(scores: list[SampleScore]) -> Value:
        said = [float(one.score.answer == str(NO_ERROR)) for one in scores]
        return {"said_no": share(said).value, **unread_shares(scores)}

    return compute


@scorer(metrics=[location_metrics(), location_replies()])
def mistake_location() -> Scorer:
    """Score the place of the first mistake. All rows count, also those without a mistake."""
    strict = first_error()

    async def score(state: TaskState, target: Target) -> Score:
        return cast(Score, await strict(state, target))

    return score


ERROR, NONE, UNREAD = "error", "none", "unread"


@metric(name="named_step_metrics", scores="unreduced")
def named_step_metrics() -> Metric:
    """The share of transcripts with a wrong step, and the share without a readable verdict."""

    def compute(scores: list[SampleScore]) -> Value:
        return {"with_error": _value_share(scores, ERROR), "unread": _value_share(scores, UNREAD)}

    return compute


def _value_share(scores: Sequence[SampleScore], value: str) -> float:
    return sum(one.score.value == value for one in scores) / max(1, len(scores))


@scorer(metrics=[named_step_metrics()])
def named_step() -> Scorer:
    """Say which step a critic calls the first wrong one: error, none, or unread."""

    async def score(state: TaskState, target: Target) -> Score:
        steps = state.metadata_as(SolutionMetadata).steps
        left = critic_verdict(state.store, state.output)
        verdict = tally(votes_of(state, left, "lenient")).verdict
        reason = (left.reason if left is not None else None) or state.output.completion.strip()
        if not isinstance(verdict, Unread) and not NO_ERROR <= verdict < len(steps):
            verdict = Unread.NOT_AN_INDEX
        if isinstance(verdict, Unread):
            return Score(
                value=UNREAD,
                explanation=f"No verdict: {UNREAD_TEXT[verdict]}.\n\n{reason}",
                reason=REASONS[verdict],
                metadata={"unread": verdict.value},
            )
        found = verdict != NO_ERROR
        return Score(
            value=ERROR if found else NONE, answer=str(verdict), explanation=reason or None
        )

    return score
