"""Detection of injected errors: found, missed, or a false alarm, by error type and position."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import InjectionMetadata
from misstep.scorers._first_error import first_error
from misstep.scorers._intervals import share
from misstep.verdicts import NO_ERROR, Verdict

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


def detection(verdict: Verdict | None, label: Verdict) -> Detection:
    """Return the outcome of a verdict against a label; None means that no verdict was read."""
    if verdict is None:
        return Detection.UNREAD
    if label == NO_ERROR:
        return Detection.PASSED if verdict == NO_ERROR else Detection.FALSE_POSITIVE
    if verdict == label:
        return Detection.CORRECT
    return Detection.FALSE_POSITIVE if 0 <= verdict < label else Detection.MISSED


@dataclass(frozen=True)
class _DetectionSample:
    outcome: str
    about: InjectionMetadata


@metric(name="detection_metrics")
def detection_metrics() -> Metric:
    """Counts of each outcome, and the share of errors found, also by type and position."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics([_sample(score) for score in scores]))

    return compute


def _sample(scored: SampleScore) -> _DetectionSample:
    return _DetectionSample(
        outcome=str((scored.score.metadata or {}).get(_OUTCOME, Detection.UNREAD)),
        about=InjectionMetadata.model_validate(scored.sample_metadata or {}),
    )


def _metrics(samples: Sequence[_DetectionSample]) -> Iterator[tuple[str, float]]:
    yield "total", len(samples)
    for outcome in Detection:
        yield outcome.value, sum(one.outcome == outcome for one in samples)
    wrong = [one for one in samples if one.about.has_error]
    yield "errors", len(wrong)
    yield from _accuracy("", wrong)
    for name in sorted({one.about.error_type for one in wrong if one.about.error_type}):
        yield from _accuracy(f"{name}_", (one for one in wrong if one.about.error_type == name))
    for name in ("early", "middle", "late"):
        members = [one for one in wrong if one.about.position_third == name]
        if members:
            yield from _accuracy(f"{name}_", members)


def _accuracy(prefix: str, wrong: Iterable[_DetectionSample]) -> Iterator[tuple[str, float]]:
    hits = [float(one.outcome == Detection.CORRECT) for one in wrong]
    estimate = share(hits)
    name = f"{prefix}first_error_accuracy"
    yield name, estimate.value
    if prefix:
        yield f"{prefix}total", len(hits)
    yield from estimate.interval(name)


@scorer(metrics=[detection_metrics()])
def detections(votes: int = 1, weighted: bool = False) -> Scorer:
    """Score the detection of an injected error, by the verdict read strictly.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
    """
    strict = first_error(votes, weighted)

    async def score(state: TaskState, target: Target) -> Score:
        read = cast(Score, await strict(state, target))
        verdict = None if read.answer is None else int(read.answer)
        outcome = detection(verdict, int(target.text))
        return Score(
            value=read.value,
            answer=read.answer,
            explanation=outcome.value.replace("_", " "),
            reason=read.reason,
            metadata={_OUTCOME: outcome.value},
        )

    return score
