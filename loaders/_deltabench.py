"""DeltaBench's rows: sections become steps, section numbers from 1 become a label from 0."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from misstep.loaders._fields import NonEmpty, printed_list, whole_number
from misstep.registry import GOLD_SECTIONS, PUBLISHED_GOLD_SECTIONS
from misstep.verdicts import NO_ERROR

PROBLEMS = "annotation_problems"
"""Where a sample's metadata tells which annotations do not fit the row's sections."""

_KEPT = ("task_l1", "task_l2", "origin", "error_type", "level", "model", "answer", "final_correct")
"""What goes to the metadata as it is. The texts would make the log some three times as large."""

_List = Annotated[list[Any], BeforeValidator(printed_list)]


class DeltaRow(BaseModel):
    """A row in either of its spellings."""

    model_config = ConfigDict(extra="allow", strict=True)

    question: NonEmpty
    sections: _List | None = None
    sections_content: str | None = Field(
        default=None, validation_alias=AliasChoices("sections_content", "section_content")
    )
    long_cot: str | None = None
    errors: _List = Field(
        validation_alias=AliasChoices("reason_error_section_numbers", "error_section_numbers")
    )
    unuseful: _List = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "reason_unuseful_section_numbers", "idea_error_section_numbers"
        ),
    )


def is_deltabench(content: dict[str, Any]) -> bool:
    """Whether a row has DeltaBench's fields rather than those of first-error rows."""
    sections = {"sections", "sections_content", "section_content"}
    return "question" in content and "steps" not in content and bool(sections & content.keys())


def first_error_row(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a first-error row.

    The label is the smallest annotated section less one. Where errors are annotated and none of
    the numbers is a section's, the label is none that a verdict within the solution could match:
    the row has an error, and nobody knows where.

    Raises:
        pydantic.ValidationError: The row lacks a field, or has one of another kind.
    """
    row = DeltaRow.model_validate(content)
    steps = section_texts(row)
    problems: list[str] = []
    errors = list(_numbers(row.errors, "reason_error_section_numbers", problems))
    unuseful = list(_numbers(row.unuseful, "reason_unuseful_section_numbers", problems))
    problems += [
        f"section {number} is not one of its 1 to {len(steps)}"
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
        GOLD_SECTIONS: gold,
        **({PUBLISHED_GOLD_SECTIONS: annotated} if annotated != gold else {}),
        "section_count": len(steps),
        "characters": len(row.question) + sum(map(len, steps)),
        **({PROBLEMS: problems} if problems else {}),
    }


def _numbers(values: list[Any], field: str, problems: list[str]) -> Iterator[int]:
    for value in values:
        try:
            yield whole_number(value)
        except ValueError:
            problems.append(f"{field}: {str(value)[:40]!r} is not a section's number")


def section_texts(row: DeltaRow) -> list[str]:
    """The texts of a row's sections: their own, else the joined ones, else those of the lines.

    Empty where the row has none of the three.
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
    """Cut "section1: … section2: …" at its markers, which count up and begin a line each.

    Args:
        joined: The text.
        count: How many there are, where that is known.
    """
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
    """The paragraphs that sections name by `start` and `end`, from 1; none where one is amiss."""
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
