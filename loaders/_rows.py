"""Rows of any kind: reading their fields, checking them, and telling which kind they are."""

import ast
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
)

from misstep.loaders._files import RawRow
from misstep.plain_text import check_name
from misstep.registry import ROW_KINDS, DataError, RowKind, corpora, sources

_MAX_PRINTED = 4_000_000
"""Characters of a printed list. Python's parser takes about a hundred bytes of memory for each, so
longer lists are not read."""
_GSM8K_MARK = "####"
"""The mark before the final answer in a solution of GSM8K."""

NonEmpty = Annotated[str, Field(min_length=1)]


def whole_number(value: object) -> int:
    """Return an integral number or its text as an integer; nothing is rounded."""
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            value = _float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("expected a whole number: -1, or the index of a step")
    return int(value)


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def json_list(value: object) -> object:
    """Return the list in a JSON text, as CSV files have it; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def printed_list(value: object) -> object:
    """Return the list in a JSON text or a Python literal; any other value as it is."""
    value = json_list(value)
    if isinstance(value, str) and value.lstrip().startswith("[") and len(value) <= _MAX_PRINTED:
        try:
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def id_text(value: object) -> object:
    """Return an integer id as text; any other value as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def answer_text(value: object) -> object:
    """Return an answer as text: from a number, a list or a solution of GSM8K."""
    if isinstance(value, list) and value:
        return ", ".join(str(answer_text(part)) for part in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and _GSM8K_MARK in value:
        return value.rpartition(_GSM8K_MARK)[2].strip().replace(",", "")
    return value


Name = Annotated[NonEmpty, AfterValidator(check_name)]
"""The name of a subset, or of another group of samples."""
Id = Annotated[Name, BeforeValidator(id_text)]
Steps = Annotated[list[str], BeforeValidator(json_list), Field(min_length=1)]
Answer = Annotated[NonEmpty, BeforeValidator(answer_text)]
Index = Annotated[int | None, BeforeValidator(lambda x: x if x is None else whole_number(x))]
"""A place, or None."""


def named(*columns: str, **settings: Any) -> Any:  # noqa: ANN401
    """Return a field that is read from the first of these columns that a row has."""
    return Field(validation_alias=AliasChoices(*columns), **settings)


ROW = "row"
"""The field of a problem that concerns the whole row."""


@dataclass(frozen=True)
class BadRow:
    """One problem of one row."""

    number: int
    id: str | None
    field: str
    problem: str
    kind: RowKind | None = None
    """The kind of the row by its columns, if they show one."""
    place: Literal["row", "line"] = "row"
    """What the number counts."""

    def __str__(self) -> str:
        name = f" ({self.id!r})" if self.id is not None else ""
        field = "" if self.field == ROW else f"{self.field}: "
        return f"{self.place} {self.number}{name}: {field}{self.problem}"


SHOWN = 5
"""The number of bad rows that an error message quotes."""


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_HasId)
M = TypeVar("M", bound=BaseModel)


def validate_rows(
    raw: Iterable[RawRow],
    read: Callable[[int, dict[str, Any]], R],
    problems: Callable[[R], Iterable[tuple[str, str]]] = lambda row: (),
) -> tuple[list[R], list[BadRow]]:
    """Return the good rows, and every problem of the bad ones."""
    rows: list[R] = []
    bad: list[BadRow] = []
    seen: dict[str, int] = {}
    for number, content in raw:
        if not isinstance(content, dict):
            bad.append(BadRow(number, None, ROW, _not_an_object(content)))
            continue
        kind = row_kind(content)
        try:
            row = read(number, content)
        except (ValueError, TypeError) as problem:
            name = content.get("id")
            name = None if name is None else str(name)
            bad += [BadRow(number, name, *error, kind) for error in _explain(problem)]
            continue
        found = list(problems(row))
        if seen.setdefault(row.id, number) != number:
            found.append(("id", f"already used by row {seen[row.id]}"))
        bad += [BadRow(number, row.id, field, text, kind) for field, text in found]
        if not found:
            rows.append(row)
    return rows, bad


def all_good(
    rows: list[R], bad: Sequence[BadRow], address: str, needed: Sequence[RowKind], lister: str = ""
) -> list[R]:
    """Return the rows of a file if there are any and none is bad; `lister` lists all problems."""
    refuse_other_kind(rows, bad, address, needed)
    if not bad:
        return rows
    lines = [f"{address}: {len(bad)} problem{'s' * (len(bad) > 1)}:"]
    lines += [f"  {problem}" for problem in bad[:SHOWN]]
    if len(bad) > SHOWN:
        lines.append(f"  and {len(bad) - SHOWN} more{lister and f': {lister} lists all'}")
    raise DataError("\n".join(lines))


def refuse_other_kind(
    rows: Sequence[object], bad: Sequence[BadRow], address: str, needed: Sequence[RowKind]
) -> None:
    """Raise DataError for a file without rows, and for a file with rows of another kind only."""
    if rows:
        return
    if not bad:
        raise DataError(f"{address}: holds no rows.")
    kind = bad[0].kind
    if kind is not None and kind not in needed and all(one.kind == kind for one in bad):
        raise DataError(wrong_kind_message(address, kind, needed))


def validate_row(content: object, model: type[M], where: str) -> M:
    """Return one row as a model, or raise DataError; `where` names the file and the row."""
    if not isinstance(content, dict):
        raise DataError(f"{where}: {_not_an_object(content)}.")
    try:
        return model.model_validate(content)
    except ValidationError as problem:
        field, text = _explain(problem)[0]
        raise DataError(f"{where}: {field}: {text}") from None


def _not_an_object(content: object) -> str:
    return f"a {type(content).__name__}, not an object"


def _explain(problem: Exception) -> list[tuple[str, str]]:
    """Return each field with its problem."""
    if isinstance(problem, ValidationError):
        return [_field_problem(error) for error in problem.errors(include_url=False)]
    return [(ROW, str(problem))]


def _field_problem(error: Any) -> tuple[str, str]:  # noqa: ANN401
    head, *rest = error["loc"] or (ROW,)
    field = str(head) + "".join(f"[{part}]" for part in rest)
    if error["type"] == "missing":
        return field, "missing"
    if error["type"] in ("too_short", "string_too_short"):
        return field, "empty"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if error["type"] != "value_error":
        message = f"expected {message}"
    value = repr(error["input"])
    return field, f"{message}; the value is {value if len(value) <= 60 else value[:57] + '...'}"


def index_problem(index: int, steps: int, least: int) -> str | None:
    """Return what is wrong with the index of a step, or None."""
    if least <= index < steps:
        return None
    return f"{index} is " + (f"below {least}" if index < least else f"beyond its {steps} steps")


FORMATS: dict[str, frozenset[str]] = {
    "PRMBench": frozenset({"modified_process", "error_steps"}),
    "MR-Ben": frozenset({"Model_Solution_Steps", "Model_Solution_Correctness"}),
    "MR-MATH": frozenset({"question", "model_output_solution_correctness"}),
    "MR-MATH, redundant": frozenset({"question", "model_output_step_format", "rating"}),
    "MathCheck": frozenset({"task_type", "question_type", "solution", "answer"}),
    "BIG-Bench Mistake": frozenset({"input", "steps", "mistake_index"}),
}
"""Row formats of other benchmarks that have a first error, each with the columns that tell it."""
WRONG_STEPS = ("PRMBench", "MR-MATH, redundant")
"""The formats whose rows name all wrong steps."""


def row_format(row: dict[str, Any]) -> str | None:
    """Return which of FORMATS a row has, or None."""
    return next((name for name, columns in FORMATS.items() if columns <= row.keys()), None)


def row_kind(row: dict[str, Any]) -> RowKind | None:
    """Return the kind of a row by its columns, or None if they fit no kind."""
    columns = row.keys()
    if "step_labels" in columns or {"messages", "label"} <= columns:
        return "trajectory"
    if {"history", "mistake_step"} <= columns:
        return "attribution"
    if (name := row_format(row)) is not None and name != "BIG-Bench Mistake":
        return "wrong_steps" if name in WRONG_STEPS else "first_error"
    if "steps" in columns:
        if "mistake_index" in columns:
            return "mistake"
        return "first_error" if "label" in columns else None
    if not columns & {"problem", "question"}:
        return None
    if columns & {"sections", "sections_content", "section_content"}:
        return "error_sections" if "question" in columns else None
    if columns & {"answer", "final_answer"}:
        return "problem"
    return "solution" if "solution" in columns else None


def registered_kinds() -> dict[str, RowKind]:
    """Return the kind of each registered source and corpus, by name."""
    kinds: dict[str, RowKind] = {name: source.kind for name, source in sources().items()}
    return kinds | dict.fromkeys(corpora(), "solution")


def wrong_kind_message(
    what: str, kind: RowKind, needed: Sequence[RowKind], more: Sequence[str] = ()
) -> str:
    """Return the message about something that holds rows of another kind.

    `needed` are the allowed kinds, the usual one first; `more` are further sources that have them.
    """
    fitting = [*more, *(name for name, kind in registered_kinds().items() if kind in needed)]
    return (
        f"{what} holds {ROW_KINDS[kind]}. Needed: {ROW_KINDS[needed[0]]}. "
        f"Sources that have them: {', '.join(fitting)}; or name your own file of such rows."
    )
