"""Numbers and text from logs for people: in a terminal, in Markdown, in JSON."""

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from hashlib import sha256
from importlib.resources import files
from math import isfinite, isnan
from typing import Any

from misstep.plain_text import markdown_text, one_line, printable
from misstep.registry import MisstepError
from misstep.scorers import Estimate

UNDEFINED = "–"
"""Stands for a metric that is undefined."""

_MOST_IDS = 5


@dataclass(frozen=True)
class TextTable:
    """A table of text. It fits 80 columns unless names are long."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    """The number of leading columns that hold words; the other columns hold numbers."""
    bold: Sequence[bool] = field(default=())
    """For each row, whether it is bold; empty if no row is."""


def percent(value: float | None, signed: bool = False) -> str:
    """A fraction in percent with one decimal."""
    if value is None or isnan(value):
        return UNDEFINED
    return f"{100 * value:{'+' if signed else ''}.1f}"


def with_interval(value: float, lower: float, upper: float, signed: bool = False) -> str:
    """A fraction in percent with its interval."""
    ends = f" [{percent(lower, signed)}, {percent(upper, signed)}]" if not isnan(lower) else ""
    return f"{percent(value, signed)}{ends}"


def cluster_note(name: str, clustered: Estimate, independent: Estimate) -> str | None:
    """A sentence on an interval that clusters make wider or narrower by more than a tenth."""
    width, other = (one.upper - one.lower for one in (clustered, independent))
    if isnan(width) or isnan(other) or other == 0 or abs(width / other - 1) <= 0.1:
        return None
    ends = f"[{percent(independent.lower)}, {percent(independent.upper)}]"
    return (
        f"{one_line(name)}: samples of one cluster are not independent. The interval is "
        f"{width / other:.2f} times as wide as that of independent samples, {ends}."
    )


def p_text(p: float, digits: int = 4) -> str:
    """A p-value; one that would round to 0 is shown as smaller than the last digit."""
    smallest = 10**-digits
    if isnan(p):
        return UNDEFINED
    return f"<{smallest:.{digits}f}" if p < smallest else f"{p:.{digits}f}"


def dollars(value: float | None) -> str:
    """A price in dollars."""
    if value is None or isnan(value):
        return UNDEFINED
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. All cells are escaped."""
    head, *body = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in (headings, *rows)]
    return "\n".join([head, "|" + " --- |" * len(headings), *body]) + "\n"


def json_text(content: object) -> str:
    """Dataclasses, lists and numbers as JSON text; undefined numbers are null."""
    return json.dumps(to_json(content), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_json(content: Any) -> Any:  # noqa: ANN401
    """Dataclasses, lists and numbers as plain JSON types; undefined numbers are None."""
    if is_dataclass(content) and not isinstance(content, type):
        return to_json(asdict(content))
    if isinstance(content, Mapping):
        return {str(key): to_json(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [to_json(value) for value in content]
    if isinstance(content, float) and not isfinite(content):
        return None
    return content


def page_file(name: str) -> str:
    """The text of a file in the folder `page`."""
    return (files("misstep.reports") / "page" / name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """The hash by which a Content-Security-Policy allows a script."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with the same keys as CSV; an undefined value is an empty cell."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writerow({name: _csv_cell(name) for name in rows[0]})
    writer.writerows({name: _csv_cell(cell) for name, cell in row.items()} for row in rows)
    return stream.getvalue()


def _csv_cell(value: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    is_formula = _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{printable(value)}" if is_formula else printable(value)


_FORMULA = re.compile(r"[=+@\t\r\n-]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_LONGEST_NAME = 120
"""Bytes of a text in a file name. File systems allow 255 bytes for the whole name."""


def some_ids(ids: Sequence[str]) -> str:
    """Return the first ids of a list, for a message."""
    return ", ".join(ids[:_MOST_IDS]) + (", …" if len(ids) > _MOST_IDS else "")


def file_name(text: str) -> str:
    """Return a text as part of a file name. A long text is shortened and ends with its hash."""
    name = re.sub(r"[^\w.+-]+", "_", text).strip("._") or "unnamed"
    content = name.encode(errors="replace")
    if len(content) <= _LONGEST_NAME:
        return name
    start = content[: _LONGEST_NAME - 13].decode(errors="ignore")
    return f"{start}-{sha256(text.encode(errors='replace')).hexdigest()[:12]}"


def file_names(texts: Iterable[str], location: str) -> dict[str, str]:
    """Return the file name of each text; an error if two texts have the same name."""
    names: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        name = file_name(text)
        other = next((one for one, known in names.items() if known == name), None)
        if other is not None:
            raise MisstepError(
                f"{location}: the subsets {other!r} and {text!r} would both be written to files "
                f"called {name!r}. Rename one of them in the data."
            )
        names[text] = name
    return names
