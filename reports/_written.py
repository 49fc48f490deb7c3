"""Numbers and foreign text as people read them: in a terminal, in Markdown, in JSON."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from math import isfinite, isnan
from typing import Any

from misstep.registry import printable

UNDEFINED = "–"
"""In the place of a figure that is undefined."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")


def percent(value: float | None, signed: bool = False) -> str:
    """A fraction in percent, with one decimal."""
    if value is None or isnan(value):
        return UNDEFINED
    return f"{100 * value:{'+' if signed else ''}.1f}"


def with_interval(value: float, lower: float, upper: float, signed: bool = False) -> str:
    """A fraction in percent with its interval."""
    ends = f" [{percent(lower, signed)}, {percent(upper, signed)}]" if not isnan(lower) else ""
    return f"{percent(value, signed)}{ends}"


def p_text(p: float) -> str:
    """A p-value with as many digits as are worth reading."""
    return UNDEFINED if isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def dollars(value: float | None) -> str:
    """A price."""
    if value is None or isnan(value):
        return UNDEFINED
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def one_line(text: object) -> str:
    """Foreign text in one line, without what would drive a terminal."""
    return " ".join(printable(str(text)).split())


def markdown_text(text: object) -> str:
    """Foreign text in a line of Markdown, as it is."""
    return _SPECIAL.sub(r"\\\1", one_line(text)).replace("&", "&amp;")


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; all of its cells are foreign text."""
    head, *body = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in (headings, *rows)]
    return "\n".join([head, "|" + " --- |" * len(headings), *body]) + "\n"


def json_text(content: object) -> str:
    """An object of dataclasses, lists and numbers as JSON, where the undefined is null."""
    return json.dumps(plain(content), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def plain(content: Any) -> Any:  # noqa: ANN401
    """The same of what JSON knows alone."""
    if is_dataclass(content) and not isinstance(content, type):
        return plain(asdict(content))
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, float) and not isfinite(content):
        return None
    return content


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with the same keys as CSV; an undefined value is an empty cell."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def file_name(text: str) -> str:
    """Return a text as part of a file name."""
    return re.sub(r"[^\w.+-]+", "_", text).strip("._") or "unnamed"
