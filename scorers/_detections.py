"""Injected errors: found, missed, or seen where there is none; by type of error and by position."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.scorers._first_error import first_error
from misstep.scorers._intervals import share
from misstep.scorers._metrics import interval
from misstep.verdicts import NO_ERROR, Verdict

THIRD = "position_third"
"""Where a sample's metadata tells in which third of the solution the error is."""
TYPE = "error_type"
_OUTCOME = "outcome"


class Detection(StrEnum):
    """What a verdict is worth; of each sample exactly one."""

    CORRECT = "correct_detections"
    """The first wrong step."""
    FALSE_POSITIVE = "false_positives"
    """A step before the error, or any step of an untouched solution."""
    MISSED = "missed_errors"
    """No error, or a step after it."""
    PASSED = "passed_untouched"
    """An untouched solution in which no error was seen."""
    UNREAD = "unread"
    """No verdict was read."""


def detection(verdict: Verdict | None, label: Verdict) -> Detection:
    """What a verdict is worth beside a label.

    Args:
        verdict: The index of a step, or NO_ERROR; None where none was read.
        label: The index of the injected error, or NO_ERROR.
    """
    if verdict is None:
        return Detection.UNREAD
    if label == NO_ERROR:
        return Detection.PASSED if verdict == NO_ERROR else Detection.FALSE_POSITIVE
    if verdict == label:
        return Detection.CORRECT
    return Detection.FALSE_POSITIVE if 0 <= verdict < label else Detection.MISSED


@dataclass(frozen=True)
class _Judged:
    outcome: str
    has_error: bool
    kind: str | None
    third: str | None


@metric(name="detection_metrics")
def detection_metrics() -> Metric:
    """Counts of each outcome, and the share of errors found, by type and by position too."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_figures([_judged(score) for score in scores]))

    return compute


def _judged(scored: SampleScore) -> _Judged:
    about = scored.sample_metadata or {}
    kind, third = about.get(TYPE), about.get(THIRD)
    return _Judged(
        outcome=str((scored.score.metadata or {}).get(_OUTCOME, Detection.UNREAD)),
        has_error=bool(about.get("has_error")),
        kind=None if kind is None else str(kind),
        third=None if third is None else str(third),
    )


def _figures(judged: Sequence[_Judged]) -> Iterator[tuple[str, float]]:
    yield "total", len(judged)
    for outcome in Detection:
        yield outcome.value, sum(one.outcome == outcome for one in judged)
    wrong = [one for one in judged if one.has_error]
    yield "errors", len(wrong)
    yield from _accuracy("", wrong)
    for name in sorted({one.kind for one in wrong if one.kind}):
        yield from _accuracy(f"{name}_", (one for one in wrong if one.kind == name))
    for name in ("early", "middle", "late"):
        members = [one for one in wrong if one.third == name]
        if members:
            yield from _accuracy(f"{name}_", members)


def _accuracy(prefix: str, wrong: Iterable[_Judged]) -> Iterator[tuple[str, float]]:
    hits = [float(one.outcome == Detection.CORRECT) for one in wrong]
    estimate = share(hits)
    name = f"{prefix}first_error_accuracy"
    yield name, estimate.value
    if prefix:
        yield f"{prefix}total", len(hits)
    yield from interval(name, estimate)


@scorer(metrics=[detection_metrics()])
def detections(votes: int = 1, weighted: bool = False) -> Scorer:
    """What becomes of an injected error, by the verdict as it is read strictly.

    Args:
        votes: How many votes were asked for.
        weighted: Let votes weigh as much as the model was sure of them.
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
