"""Rows of first-error detection: what a row must be, and what is wrong with one that is not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from misstep.loaders._deltabench import first_error_row, is_deltabench
from misstep.loaders._fields import NonEmpty, id_text, json_list, whole_number
from misstep.loaders._files import RawRow
from misstep.verdicts import NO_ERROR


class Row(BaseModel):
    """A problem, a worked solution in steps, and the index of its first wrong step."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[NonEmpty, BeforeValidator(id_text)]
    problem: NonEmpty
    steps: Annotated[list[str], BeforeValidator(json_list), Field(min_length=1)]
    label: Annotated[int, BeforeValidator(whole_number)]
    subset: NonEmpty | None = None
    generator: str | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """What the row holds beyond the known fields."""
        return self.model_extra or {}


@dataclass(frozen=True)
class BadRow:
    """One thing that is wrong with one row."""

    number: int
    id: str | None
    field: str
    problem: str

    def __str__(self) -> str:
        name = f" ({self.id!r})" if self.id is not None else ""
        return f"row {self.number}{name}: {self.field}: {self.problem}"


SHOWN = 5
"""How many bad rows an error message quotes."""


def account(address: str, bad: list[BadRow], listing: str = "") -> str:
    """What is wrong with the rows of a file, in one message.

    Args:
        address: The file.
        bad: The problems.
        listing: What lists all of them, where there are too many to quote.
    """
    shown = [f"{address}: {len(bad)} problem{'s' * (len(bad) > 1)}:"]
    shown += [f"  {problem}" for problem in bad[:SHOWN]]
    if len(bad) > SHOWN:
        shown.append(f"  and {len(bad) - SHOWN} more{listing and f': {listing}'}")
    return "\n".join(shown)


def check_rows(raw: Iterable[RawRow]) -> tuple[list[Row], list[BadRow]]:
    """Read rows, and say everything that is wrong with those that cannot be read."""
    rows: list[Row] = []
    bad: list[BadRow] = []
    seen: dict[str, int] = {}
    for number, content in raw:
        row, problems = _check(number, content)
        bad.extend(problems)
        if row is None:
            continue
        if row.id in seen:
            bad.append(BadRow(number, row.id, "id", f"already used by row {seen[row.id]}"))
            continue
        seen[row.id] = number
        rows.append(row)
    return rows, bad


def _check(number: int, content: object) -> tuple[Row | None, list[BadRow]]:
    if not isinstance(content, dict):
        return None, [BadRow(number, None, "row", f"a {type(content).__name__}, not an object")]
    try:
        known = first_error_row(content) if is_deltabench(content) else content
        row = Row.model_validate({"id": f"row-{number}"} | known)
    except ValidationError as problem:
        name = content.get("id")
        return None, [
            BadRow(number, None if name is None else str(name), *explain(error))
            for error in problem.errors(include_url=False)
        ]
    last = len(row.steps) - 1
    # Published rows whose annotations do not fit are kept, and say so themselves.
    if NO_ERROR <= row.label <= last or is_deltabench(content):
        return row, []
    where = "below -1" if row.label < NO_ERROR else f"beyond its {last + 1} steps"
    wanted = f"{row.label} is {where}; labels are -1 or 0 to {last}"
    return None, [BadRow(number, row.id, "label", wanted)]


def explain(error: Any) -> tuple[str, str]:  # noqa: ANN401
    """The field and the problem, out of pydantic's account of it."""
    head, *rest = error["loc"] or ("row",)
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
