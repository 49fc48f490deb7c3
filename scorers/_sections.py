"""The scorers for all erroneous sections: strict and published, from the same output."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.samples import SectionsMetadata
from misstep.scorers._first_error import REASONS, UNREAD_TEXT
from misstep.scorers._intervals import harmonic_mean
from misstep.scorers._section_metrics import LEFT_OUT, published_section_metrics, section_metrics
from misstep.scorers._section_replies import (
    Flagged,
    SectionsReading,
    read_sections,
    read_structured,
)
from misstep.verdicts import Unread


@scorer(metrics=[section_metrics()])
def error_sections(structured: bool = False) -> Scorer:
    """Score the flagged sections by precision and recall. Every section of the solution counts.

    Args:
        structured: Read the replies as JSON objects.
    """
    return _error_sections("strict", structured)


@scorer(metrics=[published_section_metrics()])
def error_sections_published(structured: bool = False) -> Scorer:
    """Score the flagged sections by DeltaBench's script: flags after the last error are ignored.

    Args:
        structured: Read the replies as JSON objects.
    """
    return _error_sections("published", structured)


@dataclass(frozen=True)
class SectionCount:
    """The number of flagged sections that are erroneous, not erroneous, or missed."""

    hits: int
    false_alarms: int
    missed: int
    right: bool = False
    """No section is erroneous, and none is flagged."""

    @property
    def value(self) -> dict[str, float]:
        """The value of the score. Inspect averages it over epochs."""
        precision = 1.0 if self.right else _ratio(self.hits, self.hits + self.false_alarms)
        recall = 1.0 if self.right else _ratio(self.hits, self.hits + self.missed)
        return {
            "f1": harmonic_mean(precision, recall),
            "precision": precision,
            "recall": recall,
            "hits": self.hits,
            "false_alarms": self.false_alarms,
            "missed": self.missed,
        }


def count_sections(flagged: Collection[int] | None, gold: Collection[int]) -> SectionCount:
    """Count flagged sections. None means that there is no reply: it misses all sections."""
    found, wanted = set(flagged or ()), set(gold)
    return SectionCount(
        len(found & wanted),
        len(found - wanted),
        len(wanted - found),
        right=flagged is not None and not found and not wanted,
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _error_sections(reading: SectionsReading, structured: bool) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        read = read_output(state.output, reading, structured)
        about = state.metadata_as(SectionsMetadata)
        gold, published = about.gold_sections, about.gold_sections_published
        if reading == "strict":
            return _strict_score(read, gold, len(about.steps))
        scored = _published_score(read, gold if published is None else published)
        if _cut(state.output):
            scored.metadata = {**(scored.metadata or {}), "truncated": True}
        return scored

    return score


def read_output(
    output: ModelOutput, reading: SectionsReading, structured: bool
) -> Flagged | Unread:
    """Return the sections that an output flags.

    The published script reads every reply, also one that reached the length limit. Read strictly,
    such a reply is unread.
    """
    text = output.completion
    if output.stop_reason == "model_length":
        return Unread.TRUNCATED
    if reading == "strict":
        if _cut(output):
            return Unread.TRUNCATED
        if output.stop_reason == "content_filter":
            return Unread.REFUSED
    if not text.strip():
        return Unread.EMPTY
    return read_structured(text) if structured else read_sections(text, reading)


def _cut(output: ModelOutput) -> bool:
    return output.stop_reason in ("max_tokens", "model_length")


def _strict_score(read: Flagged | Unread, gold: list[int], sections: int) -> Score:
    if isinstance(read, Unread):
        return _score(count_sections(None, gold), None, gold, read)
    there = [number for number in read.sections if 1 <= number <= sections]
    flags: dict[str, Any] = {}
    if len(there) < len(read.sections):
        flags["not_there"] = [number for number in read.sections if number not in there]
    if read.empty_markers:
        flags["empty_markers"] = read.empty_markers
    return _score(count_sections(there, gold), there, gold, None, flags)


def _published_score(read: Flagged | Unread, gold: list[int]) -> Score:
    if isinstance(read, Unread):
        # The published script knows no structured replies: an unreadable one counts as 0.
        flags = {} if read is Unread.NOT_STRUCTURED else {LEFT_OUT: "no reply"}
        return _score(count_sections(None, gold), None, gold, read, flags)
    if not gold:
        flags = {LEFT_OUT: "no erroneous section"}
        return _score(count_sections(None, gold), list(read.sections), gold, None, flags)
    kept = [number for number in read.sections if number <= max(gold)]
    return _score(count_sections(kept, gold), kept, gold)


def _score(
    count: SectionCount,
    flagged: list[int] | None,
    gold: list[int],
    unread: Unread | None = None,
    flags: dict[str, Any] | None = None,
) -> Score:
    metadata: dict[str, Any] = dict(flags or {})
    if unread is not None:
        metadata["unread"] = unread.value
    reply = f"No reply: {UNREAD_TEXT[unread]}" if unread else f"Flagged {_listed(flagged or [])}"
    counts = f"{count.hits} hit, {count.false_alarms} false, {count.missed} missed"
    why = metadata.get(LEFT_OUT)
    left_out = f" The published script leaves the sample out: {why}." if why else ""
    return Score(
        value=dict(count.value),
        answer=None if flagged is None else _listed(flagged),
        explanation=f"{reply}; erroneous: {_listed(gold)} ({counts}).{left_out}",
        reason=REASONS[unread] if unread else None,
        metadata=metadata,
    )


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none"
