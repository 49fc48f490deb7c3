"""Rows of DeltaBench as first-error rows: sections are steps, the label is an index from 0."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from misstep.loaders._rows import NonEmpty, named, printed_list, whole_number
from misstep.verdicts import NO_ERROR

PROBLEMS = "annotation_problems"
"""The metadata key with the annotations that do not fit the row's sections."""

_KEPT = (
    "task_l1",
    "task_l2",
    "origin",
    "error_type",
    "level",
    "model",
    "answer",
    "final_correct",
    "cluster",
)
"""Fields that are copied to the metadata. With the texts, a log would be three times as large."""

_List = Annotated[list[Any], BeforeValidator(printed_list)]


class DeltaRow(BaseModel):
    """A row of DeltaBench; both spellings of its fields are read."""

    model_config = ConfigDict(extra="allow", strict=True)

    question: NonEmpty
    sections: _List | None = None
    sections_content: str | None = named("sections_content", "section_content", default=None)
    long_cot: str | None = None
    errors: _List = named("reason_error_section_numbers", "error_section_numbers")
    unuseful: _List = named(
        "reason_unuseful_section_numbers", "idea_error_section_numbers", default_factory=list
    )


def first_error_fields(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a first-error row.

    The label is the smallest annotated section number minus one. If errors are annotated but no
    number belongs to a section, the label is the number of sections, which no verdict matches: the
    row has an error at an unknown place.
    """
    row = DeltaRow.model_validate(content)
    steps = _section_texts(row)
    problems: list[str] = []
    errors = list(_numbers(row.errors, "reason_error_section_numbers", problems))
    unuseful = list(_numbers(row.unuseful, "reason_unuseful_section_numbers", problems))
    problems += [
        f"section {number} is not one of its sections 1 to {len(steps)}"
        for number in sorted({*errors, *unuseful})
        if not 1 <= number <= len(steps)
    ]
    positive = [number for number in errors if number > 0]
    label = min(positive) - 1 if positive else len(steps) if row.errors else NO_ERROR
    annotated = sorted({*errors, *unuseful})
    gold = [number for number in annotated if 1 <= number <= len(steps)]
    return {
        **({"id": content["id"]} if "id" in content else {}),
        "problem": row.question,
        "steps": steps,
        "label": label,
        "subset": content.get("task_l1"),
        "generator": content.get("model"),
        **{name: content[name] for name in _KEPT if name in content},
        "error_sections": sorted(set(errors)),
        "unuseful_sections": sorted(set(unuseful)),
        "gold_sections": gold,
        **({"gold_sections_published": annotated} if annotated != gold else {}),
        "section_count": len(steps),
        "characters": len(row.question) + sum(map(len, steps)),
        **({PROBLEMS: problems} if problems else {}),
    }


def _numbers(values: list[Any], field: str, problems: list[str]) -> Iterator[int]:
    for value in values:
        try:
            yield whole_number(value)
        except ValueError:
            problems.append(f"{field}: {str(value)[:40]!r} is not a section number")


def _section_texts(row: DeltaRow) -> list[str]:
    """Return the texts of a row's sections; an empty list if the row has none.

    They are taken from `sections`, else from `sections_content`, else from the paragraphs of
    `long_cot`.
    """
    sections = [part if isinstance(part, dict) else {} for part in row.sections or []]
    own = [part.get("content", part.get("section")) for part in sections]
    texts = [text for text in own if isinstance(text, str)]
    if texts and len(texts) == len(sections):
        return texts
    joined = _split(row.sections_content or "", len(sections) or None)
    if len(joined) == (len(sections) or len(joined)):
        return joined
    return _by_paragraphs(row.long_cot or "", sections) or joined


def _split(joined: str, count: int | None) -> list[str]:
    """Split "section1: … section2: …" at its markers. They are in order, each begins a line."""
    starts: list[tuple[int, int]] = []
    place = 0
    while count is None or len(starts) < count:
        marker = re.compile(rf"^[ \t]*section ?{len(starts) + 1}[ \t]*:[ \t]?", re.I | re.M)
        found = marker.search(joined, place)
        if found is None:
            break
        starts.append(found.span())
        place = found.end()
    ends = [start for start, _ in starts[1:]] + [len(joined)]
    return [joined[a:b].strip("\n") for (_, a), b in zip(starts, ends, strict=False)]


def _by_paragraphs(text: str, sections: list[dict[str, Any]]) -> list[str]:
    """Return the paragraphs from `start` to `end` of each section; none if a section is wrong."""
    paragraphs = text.split("\n\n") if text else []
    texts: list[str] = []
    for section in sections:
        start, end = section.get("start"), section.get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            return []
        if not 1 <= start <= end <= len(paragraphs):
            return []
        texts.append("\n\n".join(paragraphs[start - 1 : end]))
    return texts
