"""An example: a worked solution with an injected error, or an untouched one."""

from collections.abc import Iterator
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from misstep.boxes import last_boxed
from misstep.loaders import BadRow, Id, Name, RawRow, validate_rows
from misstep.verdicts import NO_ERROR

LATE_FRACTION = 0.25
"""The default part of a solution, from its end, that gets the error."""


class SolutionToInject(BaseModel):
    """Metadata of a sample of a build: a worked solution, and the error that it is to get."""

    model_config = ConfigDict(frozen=True)

    steps: list[str]
    answer: str
    source: str
    inject: bool
    """Whether the solution gets an error. If not, it stays untouched."""
    target: int
    """The step that gets the error."""
    error_types: list[str]
    """The types that the error may have."""


class Example(BaseModel):
    """A row of first-error detection, with the record of its injection.

    Files from elsewhere may use other names, and names with `1based` count steps from 1.
    """

    model_config = ConfigDict(extra="ignore")

    id: Id
    problem: str
    steps: list[str] = Field(min_length=1)
    label: int
    """The index of the step that is declared as the first wrong one, or -1."""
    subset: Name | None = Field(default=None, validation_alias=AliasChoices("subset", "source"))
    generator: str | None = Field(
        default=None, validation_alias=AliasChoices("generator", "injector")
    )
    """The model that injected the error."""
    final_answer_correct: bool
    error_type: str | None = None
    original_steps: list[str] = Field(min_length=1)
    answer: str | None = None
    """The right answer."""
    final_answer: str | None = None
    """The answer that the steps lead to."""
    late_fraction: float = Field(default=LATE_FRACTION, gt=0, le=1)
    rationale: str = ""
    what_changed: str = ""
    why_incorrect: str = ""
    detection_difficulty: str = ""
    checks: list[str] = Field(default_factory=list)
    """The checks that were run on the example, each with its result: `minimal: passed`."""
    review_votes: list[int | None] = Field(default_factory=list)
    """The first wrong step that each reviewer named: -1 for none, null for a reply without one."""
    review_share: float | None = Field(default=None, ge=0, le=1)
    """The share of votes that named the label. A small share means that it is hard to see."""
    original_votes: list[int | None] = Field(default_factory=list)
    """The votes on the original solution, before the error was injected."""
    flagged: int | None = Field(default=None, exclude=True)
    """The step that the file marks as wrong, if it differs from the declared one."""

    @model_validator(mode="before")
    @classmethod
    def _rename_fields(cls, content: Any) -> Any:  # noqa: ANN401
        if not isinstance(content, dict):
            return content
        known = dict(content)
        if "modified_steps" in known:
            known.setdefault("steps", known["modified_steps"])
        if "declared_error_step_1based" in known:
            known.setdefault("label", int(known["declared_error_step_1based"]) - 1)
        flagged = known.get("error_steps_1based")
        if isinstance(flagged, list) and flagged:
            known["flagged"] = int(min(flagged)) - 1
            known.setdefault("label", known["flagged"])
        for field, steps in (("answer", "original_steps"), ("final_answer", "steps")):
            if not known.get(field) and isinstance(known.get(steps), list):
                known[field] = last_boxed("\n".join(map(str, known[steps])))
        known.setdefault("final_answer_correct", known.get("label") == NO_ERROR)
        return known

    @property
    def untouched(self) -> bool:
        """Whether the solution has no injected error."""
        return self.label == NO_ERROR

    def row(self) -> dict[str, Any]:
        """Return the example as a row of a file."""
        return self.model_dump()


def read_examples(raw: Iterator[RawRow]) -> tuple[list[Example], list[BadRow]]:
    """Return the examples among the rows of a file, and every problem of the other rows."""
    return validate_rows(raw, lambda number, content: Example.model_validate(content))
