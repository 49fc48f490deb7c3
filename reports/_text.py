"""Numbers and text from logs for people: in a terminal, in Markdown, in JSON, in HTML.

In HTML, LaTeX formulas are MathML, which browsers draw without a library, and all other text is
escaped.
"""

import csv
import io
import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

from misstep.forge import display_spans
from misstep.plain_text import markdown_text, one_line, printable
from misstep.registry import MisstepError
from misstep.scorers import Estimate

if TYPE_CHECKING:
    from math_core import LatexToMathML

UNDEFINED = "–"
"""The sign for a metric that is undefined."""

_MOST_IDS = 5

_LONGEST_FORMULA = 1500
"""A longer formula is shown as LaTeX source."""

# Only these elements and attributes are kept, whatever the library makes of a formula.
_TAGS = re.findall(
    r"\w+",
    "math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot mtable mtr mtd mover munder "
    "munderover mspace mstyle mpadded mphantom mmultiscripts mprescripts none",
)
_ATTRIBUTES = re.findall(
    r"\w+",
    "stretchy fence form width linebreak mathvariant lspace rspace accent accentunder "
    "separator minsize maxsize movablelimits displaystyle scriptlevel linethickness symmetric",
)
_VALUE = re.compile(r"[\w.#%+-]*")
_ALIGNED_CELL = re.compile(r"(?:(?:text-align|justify-items|padding-(?:left|right)): ?\w+;)+")
_INLINE = re.compile(r"\$(?![\s$])(?:[^$\\]|\\.)+?(?<!\s)\$(?!\d)|\\\((?:[^\\]|\\[^()])*\\\)", re.S)
"""Formulas inside a line. As in Pandoc, a formula in dollars neither begins nor ends with a space,
and no digit follows it: most solutions of word problems have prices."""
_DELIMITERS = re.compile(r"^(?:\\\[|\\\(|\$\$?)|(?:\\\]|\\\)|\$\$?)$")
_MACROS = {"dotsb": r"\cdots", "dotsm": r"\cdots", "dotsi": r"\cdots", "nonumber": "", "notag": ""}
"""Commands that the library does not know."""


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


@cache
def _converter() -> "LatexToMathML":
    from math_core import LatexToMathML

    return LatexToMathML(macros=_MACROS, fancy_error=False)


def formula_mathml(source: str) -> str | None:
    """Return a formula with its delimiters as MathML, or None if it cannot be converted.

    The text is that of the library. It is put into a page only after its elements were checked.
    """
    display = source.startswith(("\\[", "$$", "\\begin"))
    body = _DELIMITERS.sub("", _DELIMITERS.sub("", source)).strip()
    if not body or len(body) > _LONGEST_FORMULA:
        return None
    try:
        return str(_converter().convert_with_local_state(body, displaystyle=display))
    except Exception:  # text from a model can fail anywhere in the library
        return None


def formula_html(source: str) -> str:
    """Return a formula with its delimiters as MathML, or its LaTeX source if that fails."""
    found = formula_mathml(source)
    if found is not None:
        try:
            return _element_html(fromstring(found))  # noqa: S314 (the library's own output)
        except Exception:  # noqa: S110
            pass
    return f"<code>{escape(source)}</code>"


def _element_html(element: Element) -> str:
    tag, extra = element.tag, ""
    if tag == "math":
        extra = f' display="{"block" if element.get("display") == "block" else "inline"}"'
    elif tag == "menclose":
        tag, extra = "mrow", ' class="boxed"'
    elif tag not in _TAGS:
        tag = "mrow"
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and _VALUE.fullmatch(value):
            extra += f' {name}="{value}"'
        elif name == "style" and tag == "mtd" and _ALIGNED_CELL.fullmatch(value.replace("; ", ";")):
            extra += f' style="{value}"'
    inner = escape(element.text or "") + "".join(
        _element_html(child) + escape(child.tail or "") for child in element
    )
    return f"<{tag}{extra}>{inner}</{tag}>"


def formulas_and_words(text: str) -> list[str]:
    """Return the formulas, words and separators of a text. Joined, they are the text."""
    pieces: list[str] = []
    for piece in formulas_and_text(text):
        pieces += [piece] if is_formula(piece) else re.findall(r"\w+|\s+|[^\w\s]", piece)
    return pieces


def formulas_and_text(text: str) -> list[str]:
    """Return the formulas of a text and the texts between them. Joined, they are the text."""
    pieces: list[str] = []
    place = 0
    spans = display_spans(text)
    ends = [end for _, end in spans]
    for inline in (found.span() for found in _INLINE.finditer(text)):
        following = bisect_right(ends, inline[0])  # the first display formula that ends after it
        if following == len(ends) or spans[following][0] >= inline[1]:
            spans.append(inline)
    for start, end in sorted(spans):
        pieces += [text[place:start], text[start:end]]
        place = end
    return [piece for piece in [*pieces, text[place:]] if piece]


def is_formula(piece: str) -> bool:
    """Return whether a piece is a formula with its delimiters."""
    return len(piece) > 2 and piece.startswith(("\\[", "\\(", "$", "\\begin"))


def text_html(text: str) -> str:
    """Return a text as HTML with its formulas as MathML."""
    return pieces_html(formulas_and_text(text))


def pieces_html(pieces: list[str]) -> str:
    """Return the pieces of a text as HTML with its formulas as MathML."""
    return "".join(formula_html(piece) if is_formula(piece) else escape(piece) for piece in pieces)
