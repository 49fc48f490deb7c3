"""Read which sections a critic flags as wrong, or why the reply cannot be read.

There are two readings of the same text. *Published* follows DeltaBench's script to the letter, with
its mistakes. *Strict* reads only the words that the prompt asks for, as they were meant.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from misstep.verdicts import Unread

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
