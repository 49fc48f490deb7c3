"""A log of first-error detection as a table: what was said of every sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai.log import EvalLog, EvalSampleSummary, read_eval_log_sample_summaries
from inspect_ai.scorer import Score

from misstep.verdicts import NO_ERROR

SCORER = "first_error"

Finding = Literal[
    "exact", "early", "late", "missed", "right", "false_alarm", "out_of_range", "unread"
]

ON_ERRORS: Sequence[Finding] = ("exact", "early", "late", "missed", "out_of_range", "unread")
"""What can be said of a solution with an error."""

ON_CORRECT: Sequence[Finding] = ("right", "false_alarm", "out_of_range", "unread")
"""What can be said of a solution without one."""


@dataclass(frozen=True)
class Judged:
    """A sample, and what a critic said of it."""

    critic: str
    id: str
    epoch: int
    label: int
    verdict: int | None
    finding: Finding
    unread: str | None
    """Why no verdict was read, if none was."""
    metadata: dict[str, Any]
    """What the sample's metadata says in few characters."""

    @property
    def has_error(self) -> bool:
        """Whether the solution has an error."""
        return self.label != NO_ERROR


def judged_samples(log: EvalLog, critic: str) -> list[Judged]:
    """Every scored sample of a log, in the order of ids.

    Args:
        log: The log, or its header; samples are read from its file.
        critic: What to call the one who judged.
    """
    summaries = read_eval_log_sample_summaries(log.location)
    scored = [
        _judged(summary, summary.scores[SCORER], critic)
        for summary in summaries
        if summary.scores and SCORER in summary.scores
    ]
    return sorted(scored, key=lambda judged: (judged.id, judged.epoch))


def _judged(summary: EvalSampleSummary, score: Score, critic: str) -> Judged:
    label = int(summary.metadata["label"])
    said = score.metadata or {}
    verdict = None if score.answer is None else int(score.answer)
    return Judged(
        critic=critic,
        id=str(summary.id),
        epoch=summary.epoch,
        label=label,
        verdict=verdict,
        finding=finding_of(verdict, label, bool(said.get("out_of_range"))),
        unread=said.get("unread"),
        metadata=summary.metadata,
    )


def finding_of(verdict: int | None, label: int, out_of_range: bool) -> Finding:
    """What a verdict is, against a label.

    Args:
        verdict: The predicted index, or None where none was read.
        label: The index of the first wrong step, or NO_ERROR.
        out_of_range: Whether the solution has no such step.
    """
    if verdict is None:
        return "unread"
    if out_of_range:
        return "out_of_range"
    if verdict == label:
        return "right" if label == NO_ERROR else "exact"
    if label == NO_ERROR:
        return "false_alarm"
    if verdict == NO_ERROR:
        return "missed"
    return "early" if verdict < label else "late"
