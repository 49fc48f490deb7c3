"""Rows of BIG-Bench Mistake: a question, reasoning in steps, and where it goes wrong."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.loaders._fields import NonEmpty, id_text, json_list, whole_number
from misstep.loaders._files import RawRow
from misstep.loaders._rows import BadRow, explain


def _index(value: object) -> int | None:
    return None if value is None else whole_number(value)


class MistakeRow(BaseModel):
    """A row as the files have it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: Annotated[NonEmpty, BeforeValidator(id_text)]
    task: NonEmpty
    input: NonEmpty
    steps: Annotated[list[str], BeforeValidator(json_list), Field(min_length=1)]
    target: NonEmpty
    answer: str | None
    """What the steps come to."""
    mistake_index: Annotated[int | None, BeforeValidator(_index)]
    """The index of the first wrong step; None where there is none."""

    @property
    def recoverable(self) -> bool:
        """Whether there is a mistake, not in the last step, that leads to a wrong answer."""
        return (
            self.mistake_index is not None
            and self.mistake_index < len(self.steps) - 1
            and self.answer != self.target
        )


def check_mistakes(
    raw: Iterable[RawRow], task: str | None, known: Iterable[str]
) -> tuple[list[MistakeRow], list[BadRow]]:
    """Read rows, and say everything that is wrong with those that break the rules.

    Args:
        raw: The rows.
        task: The task of all rows; without it, each names its own.
        known: The tasks that there are.
    """
    rows: list[MistakeRow] = []
    bad: list[BadRow] = []
    seen: dict[str, int] = {}
    for number, content in raw:
        if not isinstance(content, dict):
            bad.append(BadRow(number, None, "row", f"a {type(content).__name__}, not an object"))
            continue
        try:
            row = MistakeRow.model_validate(_complete(number, content, task))
        except ValidationError as problem:
            errors = problem.errors(include_url=False)
            bad += [BadRow(number, _name(content), *explain(error)) for error in errors]
            continue
        problems = list(_problems(row, number, seen, known))
        bad += [BadRow(number, row.id, *problem) for problem in problems]
        if not problems:
            rows.append(row)
    return rows, bad


def _complete(number: int, content: dict[str, Any], task: str | None) -> dict[str, Any]:
    """The row with its task, and with a name where it has none: its place in the file, from 0."""
    own = {"task": task} | content
    # A user's own rows may leave out where the reasoning led: then it led astray.
    return {"id": f"{own['task'] or 'row'}-{number - 1}", "answer": None} | own


def _name(content: dict[str, Any]) -> str | None:
    name = content.get("id")
    return None if name is None else str(name)


def _problems(
    row: MistakeRow, number: int, seen: dict[str, int], known: Iterable[str]
) -> Iterator[tuple[str, str]]:
    last = len(row.steps) - 1
    if row.mistake_index is not None and not 0 <= row.mistake_index <= last:
        where = "below 0" if row.mistake_index < 0 else f"beyond its {last + 1} steps"
        allowed = f"allowed are 0 to {last}, and null for no mistake"
        yield "mistake_index", f"{row.mistake_index} is {where}; {allowed}"
    if row.task not in known:
        yield "task", f"{row.task!r} is unknown; allowed are {', '.join(known)}"
    if seen.setdefault(row.id, number) != number:
        yield "id", f"already used by row {seen[row.id]}"
