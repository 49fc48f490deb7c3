"""LaTeX formulas as MathML, which browsers draw without a library. All other text is escaped."""

import re
from bisect import bisect_right
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, fromstring

from misstep.forge import display_spans

if TYPE_CHECKING:
    from math_core import LatexToMathML

_MAX_CHARACTERS = 1500
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
    if not body or len(body) > _MAX_CHARACTERS:
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
