"""An example: a worked solution with an injected error, or one that was left untouched."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic import ValidationError as Invalid

from misstep.boxes import last_boxed
from misstep.loaders import BadRow, RawRow
from misstep.verdicts import NO_ERROR

LATE_FRACTION = 0.25
"""The part of a solution, from its end, in which errors are injected."""


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Example(BaseModel):
    """A row of first-error detection, with the record of its injection.

    Files made elsewhere may name things otherwise, and count steps from 1 where they say so.
    """

    model_config = ConfigDict(extra="ignore")

    id: Annotated[str, BeforeValidator(_text)]
    problem: str
    steps: list[str] = Field(min_length=1)
    label: int
    """The index of the step that is declared to be the first wrong one, or -1."""
    subset: str | None = Field(default=None, validation_alias=AliasChoices("subset", "source"))
    generator: str | None = Field(
        default=None, validation_alias=AliasChoices("generator", "injector")
    )
    """Who injected the error."""
    final_answer_correct: bool
    error_type: str | None = None
    original_steps: list[str] = Field(min_length=1)
    answer: str | None = None
    """The right answer."""
    final_answer: str | None = None
    """The answer that the steps arrive at."""
    late_fraction: float = Field(default=LATE_FRACTION, gt=0, le=1)
    rationale: str = ""
    what_changed: str = ""
    why_incorrect: str = ""
    detection_difficulty: str = ""
    checks: list[str] = Field(default_factory=list)
    """The names of the checks that it passed."""
    flagged: int | None = Field(default=None, exclude=True)
    """The step that the modified solution marks as wrong, where that is told apart."""

    @model_validator(mode="before")
    @classmethod
    def _in_our_words(cls, content: Any) -> Any:  # noqa: ANN401
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
        """Whether it is a solution without an injected error."""
        return self.label == NO_ERROR

    def row(self) -> dict[str, Any]:
        """The row of a file."""
        return self.model_dump()


def read_examples(raw: Iterator[RawRow]) -> tuple[list[Example], list[BadRow]]:
    """Read the rows of a file, and say what is wrong with those that are no examples."""
    examples: list[Example] = []
    bad: list[BadRow] = []
    seen: dict[str, int] = {}
    for number, content in raw:
        try:
            example = Example.model_validate(content)
        except (Invalid, ValueError, TypeError) as problem:
            bad.extend(_explained(number, content, problem))
            continue
        if example.id in seen:
            said = f"already used by row {seen[example.id]}"
            bad.append(BadRow(number, example.id, "id", said))
            continue
        seen[example.id] = number
        examples.append(example)
    return examples, bad


def _explained(number: int, content: object, problem: Exception) -> Iterator[BadRow]:
    name = str(content["id"]) if isinstance(content, dict) and "id" in content else None
    if not isinstance(problem, Invalid):
        yield BadRow(number, name, "row", str(problem))
        return
    for error in problem.errors(include_url=False):
        field = ".".join(map(str, error["loc"])) or "row"
        yield BadRow(number, name, field, error["msg"])
