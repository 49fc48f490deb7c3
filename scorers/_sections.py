"""All erroneous sections: what a reply flags, the scores, and the metrics.

There are two readings of the same text. *Published* follows DeltaBench's script to the letter, with
its mistakes. *Strict* reads only the words that the prompt asks for, as they were meant.

The values of a sample are the means over its epochs. A run registers few metrics. `section_table`
has all.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Literal, TypeAlias, cast

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState
from pydantic import BaseModel, ConfigDict, ValidationError

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata, SectionsMetadata
from misstep.scorers._first_error import unread_shares
from misstep.scorers._intervals import UNDEFINED, Estimate, harmonic_mean, ratio, share
from misstep.scorers._votes import REASONS, UNREAD_TEXT
from misstep.verdicts import Unread

LEFT_OUT = "left_out"
"""The key of a score's metadata that says why the published script leaves the sample out."""

VALUES = ("precision", "recall", "f1", "hits", "false_alarms", "missed")
METRICS = ("f1_macro", "precision_macro", "recall_macro", "f1_micro")
"""The metrics that a run registers, the headline first."""


@dataclass(frozen=True)
class SectionsSample:
    """What the metrics need of the epochs of one sample that are counted."""

    values: dict[str, float]
    """The means of VALUES."""
    cluster: str


@metric(name="section_metrics", scores="unreduced")
def section_metrics() -> Metric:
    """F1, precision and recall over solutions, F1 over sections, and the unread shares."""

    def compute(scores: list[SampleScore]) -> Value:
        estimates = section_estimates(scores)
        return {
            **{name: estimates[name].value for name in METRICS},
            **dict(estimates["f1_macro"].interval("f1_macro")),
            **unread_shares(scores),
            "total_count": len(_by_sample(scores)),
            # Inspect's dataframes and viewer take a metric of this name as the error bar.
            "stderr": estimates["f1_macro"].stderr,
        }

    return compute


@metric(name="published_section_metrics", scores="unreduced")
def published_section_metrics() -> Metric:
    """F1, precision and recall over solutions."""

    def compute(scores: list[SampleScore]) -> Value:
        estimates = section_estimates(scores)
        return {
            **{name: estimates[name].value for name in METRICS[:3]},
            **dict(estimates["f1_macro"].interval("f1_macro")),
        }

    return compute


def section_table(scores: Sequence[SampleScore], epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return every metric of erroneous sections, also by subset.

    Args:
        scores: One score for each sample. They are not used: the values of epochs are averaged.
        epochs: The scores of all epochs.
    """
    return metric_values(_all_metrics(epochs))


def _all_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    yield from _set_metrics(epochs)
    yield "stderr", section_estimates(epochs)["f1_macro"].stderr
    for subset in sorted({name for one in epochs if (name := _about(one).subset) is not None}):
        members = [one for one in epochs if _about(one).subset == subset]
        for name, value in _set_metrics(members):
            yield f"{subset}_{name}", value


def _set_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    estimates = section_estimates(epochs)
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from unread_shares(epochs).items()
    yield "left_out", share([float(_is_left_out(one)) for one in epochs]).value
    yield "total_count", len(_by_sample(epochs))
    for name, estimate in estimates.items():
        yield from estimate.interval(name)


def section_estimates(epochs: Sequence[SampleScore]) -> dict[str, Estimate]:
    """Return F1, precision and recall with their intervals, macro and micro.

    Precision is 0 if nothing is flagged, as in the published script. Recall is undefined if no
    section is erroneous.
    """
    groups = _by_sample([one for one in epochs if not _is_left_out(one)])
    samples = [_sample(name, members) for name, members in groups.items()]
    clusters = [sample.cluster for sample in samples]

    def column(name: str) -> list[float]:
        return [sample.values[name] for sample in samples]

    hits, false_alarms, missed = (column(name) for name in VALUES[3:])
    flagged = [a + b for a, b in zip(hits, false_alarms, strict=True)]
    gold = [a + b for a, b in zip(hits, missed, strict=True)]
    precision, recall = ratio(hits, flagged, clusters), ratio(hits, gold, clusters)
    if samples and not sum(flagged):
        precision = Estimate(0.0, nan, nan)
    # F1 over sections is a share too: hits count twice, in what is flagged and in what is wrong.
    f1 = ratio([2 * x for x in hits], [a + b for a, b in zip(flagged, gold, strict=True)], clusters)
    value = harmonic_mean(precision.value, recall.value)
    macro = {f"{name}_macro": share(column(name), clusters) for name in ("f1", *VALUES[:2])}
    return {
        **macro,
        "f1_micro": UNDEFINED if isnan(value) else replace(f1, value=value),
        "precision_micro": precision,
        "recall_micro": recall,
    }


def _by_sample(epochs: Sequence[SampleScore]) -> dict[str, list[SampleScore]]:
    samples: dict[str, list[SampleScore]] = {}
    for number, one in enumerate(epochs):
        name = f"number {number}" if one.sample_id is None else str(one.sample_id)
        samples.setdefault(name, []).append(one)
    return samples


def _sample(name: str, epochs: Sequence[SampleScore]) -> SectionsSample:
    parts = [one.score.as_dict() for one in epochs]
    return SectionsSample(
        values={key: sum(float(cast(float, p[key])) for p in parts) / len(parts) for key in VALUES},
        cluster=_about(epochs[0]).cluster or f"sample {name}",
    )


def _about(scored: SampleScore) -> GroupMetadata:
    return GroupMetadata.model_validate(scored.sample_metadata or {})


def _is_left_out(scored: SampleScore) -> bool:
    return LEFT_OUT in (scored.score.metadata or {})


SectionsReading: TypeAlias = Literal["strict", "published"]

_MARKER = "Error Section Number:"
_BEYOND = 10**18
"""Replaces a number of too many digits. No solution has so many sections."""


@dataclass(frozen=True)
class Flagged:
    """The sections that a reply flags as wrong, numbered from 1."""

    sections: tuple[int, ...]
    """Distinct numbers in the order of the reply; empty if it says that there is no error."""
    empty_markers: int = 0
    """The number of markers without a number after them."""


class SectionError(BaseModel):
    """A section that has an error."""

    # The model sees this docstring: it is part of the schema.

    model_config = ConfigDict(extra="forbid")

    section: int
    explanation: str


class StructuredReply(BaseModel):
    """The JSON object that the prompt asks for."""

    model_config = ConfigDict(extra="forbid")

    has_error: bool
    errors: list[SectionError]


def read_sections(text: str, reading: SectionsReading) -> Flagged | Unread:
    """Return the sections that a reply in words flags.

    The published reading never fails: a text without "yes" in its conclusion means no error.
    """
    return _published(text) if reading == "published" else _strict(text)


def read_structured(text: str) -> Flagged | Unread:
    """Return the sections that a reply in JSON flags. The object may stand in a code fence."""
    fenced = re.fullmatch(r"\s*```(?:json)?\s*(.*?)\s*```\s*", text, re.DOTALL)
    try:
        reply = StructuredReply.model_validate_json(fenced[1] if fenced else text)
    except ValidationError:
        return Unread.NOT_STRUCTURED
    if not reply.has_error:
        return Flagged(())
    sections = _distinct([error.section for error in reply.errors])
    return Flagged(sections) if sections else Unread.NO_SECTION


def _published(text: str) -> Flagged:
    head, *parts = text.split(_MARKER)
    if "yes" not in head.split("Conclusion:")[-1].lower():
        return Flagged(())
    found = [re.search(r"\d+", part.split("Explanation:")[0]) for part in parts]
    return Flagged(_distinct([_number(match[0]) if match else -1 for match in found]))


# Models like to write the words in bold type.
_STRICT_MARKER = re.compile(r"error section numbers?[*_` ]{0,4}:", re.IGNORECASE)
_CONCLUSION = re.compile(r"conclusion[*_` ]{0,4}:", re.IGNORECASE)
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_STARTS = re.compile(r"\W{0,20}\b(yes|no)\b", re.IGNORECASE)
# Numbers after a marker: 4 or [4] or section 4; then , 5 and 6 or -7.
_FIRST = re.compile(r"[\s*_`\[(<\"']{0,20}(?:sections?)?[ #]{0,3}(\d+)", re.IGNORECASE)
_NEXT = re.compile(
    r"[\])>\"' ]{0,3}(?:(?P<range>-|–|to\b)|[,;&/]|and\b)(?:[ ]?and\b)?"
    r"[\[(<\"' ]{0,3}(?:sections?)?[ #]{0,3}(\d+)",
    re.IGNORECASE,
)
_LONGEST_RANGE = 1000
"""Sections. A longer range is taken as its two ends."""


def _strict(text: str) -> Flagged | Unread:
    markers = list(_STRICT_MARKER.finditer(text))
    conclusion = _conclusion(text[: markers[0].start()] if markers else text)
    if conclusion is None:
        # A reply that names sections without a conclusion still reports an error.
        conclusion = "yes" if markers else "unclear"
    if conclusion == "unclear":
        return Unread.NO_CONCLUSION
    if conclusion == "no":
        return Flagged(())
    named = [_numbers_at(text, marker.end()) for marker in markers]
    sections = _distinct([number for numbers in named for number in numbers])
    return Flagged(sections, named.count([])) if sections else Unread.NO_SECTION


def _conclusion(head: str) -> Literal["yes", "no", "unclear"] | None:
    """Return the first yes or no after the last "Conclusion:", or at the start of the text."""
    conclusions = list(_CONCLUSION.finditer(head))
    word = _YES_NO.search(head, conclusions[-1].end()) if conclusions else _STARTS.match(head)
    if word is None:
        return "unclear" if conclusions else None
    return "yes" if word[1].lower() == "yes" else "no"


def _numbers_at(text: str, place: int) -> list[int]:
    """Return the numbers that stand directly at a place: one, a list or a range."""
    first = _FIRST.match(text, place)
    if first is None:
        return []
    numbers = [_number(first[1])]
    place = first.end()
    while following := _NEXT.match(text, place):
        last, number = numbers[-1], _number(following[2])
        if following["range"] and last < number <= last + _LONGEST_RANGE:
            numbers += range(last + 1, number)
        numbers.append(number)
        place = following.end()
    return numbers


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= 18 else _BEYOND


def _distinct(numbers: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


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
