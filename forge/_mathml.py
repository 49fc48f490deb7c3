"""Formulas as MathML, which browsers draw by themselves; whatever else a text holds is escaped."""

import re
from html import escape, unescape
from xml.etree.ElementTree import Element

from misstep.forge._latex import display_spans, inline_spans

_LONGEST = 1500
"""Characters of a formula that is drawn; a longer one is shown as it is written."""

# The library writes whatever a formula says into elements and attributes: only these are kept.
_TAGS = frozenset(
    re.findall(
        r"\w+",
        "math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot mtable mtr mtd mover munder "
        "munderover mspace mstyle mpadded mphantom mmultiscripts mprescripts none",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        "stretchy fence form width linebreak mathvariant lspace rspace accent accentunder "
        "separator minsize maxsize movablelimits displaystyle",
    )
)
_VALUE = re.compile(r"[\w.#%+-]*")
_DELIMITERS = re.compile(r"^(?:\\\[|\\\(|\$\$?)|(?:\\\]|\\\)|\$\$?)$")
_ALIGNED = re.compile(r"\\(begin|end)\s*\{(?:align|aligned|gather|gathered|split|eqnarray)\*?\}")


def formula_html(source: str) -> str:
    """A formula with its delimiters as MathML, or as it is written where that cannot be had."""
    display = source.startswith(("\\[", "$$", "\\begin"))
    body = _DELIMITERS.sub("", _DELIMITERS.sub("", source)).strip()
    # Not known to the library by these names; of a table of two columns they are the same.
    body = _ALIGNED.sub(lambda m: "\\begin{array}{rl}" if m[1] == "begin" else "\\end{array}", body)
    if body and len(body) <= _LONGEST:
        try:
            from latex2mathml.converter import convert_to_element

            element = convert_to_element(body, display="block" if display else "inline")
            return _written(element, display)
        except Exception:  # noqa: S110 (a text from a model can fail anywhere in its reader)
            pass
    return f"<code>{escape(source)}</code>"


def _written(element: Element, display: bool = False) -> str:
    tag, extra = element.tag, ""
    if tag == "math":
        extra = f' display="{"block" if display else "inline"}"'
    elif tag == "menclose":
        tag, extra = "mrow", ' class="boxed"'
    elif tag not in _TAGS:
        tag = "mrow"
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and _VALUE.fullmatch(value):
            extra += f' {name}="{value}"'
    inner = escape(unescape(element.text or "")) + "".join(
        _written(child) + escape(unescape(child.tail or "")) for child in element
    )
    return f"<{tag}{extra}>{inner}</{tag}>"


def formulas_and_words(text: str) -> list[str]:
    """A text in pieces: formulas whole, words, and what is between them; joined, the text."""
    pieces: list[str] = []
    place = 0
    for start, end in _formulas(text):
        pieces += re.findall(r"\w+|\s+|[^\w\s]", text[place:start])
        pieces.append(text[start:end])
        place = end
    return pieces + re.findall(r"\w+|\s+|[^\w\s]", text[place:])


def _formulas(text: str) -> list[tuple[int, int]]:
    spans = display_spans(text)
    inside = [(a, b) for a, b in inline_spans(text) if not any(x < b and a < y for x, y in spans)]
    return sorted([*spans, *inside])


def is_formula(piece: str) -> bool:
    """Whether a piece is a formula with its delimiters."""
    opening = ("\\[", "\\(", "$", "\\begin")
    return len(piece) > 2 and piece.startswith(opening)


def text_html(text: str) -> str:
    """A text with its formulas drawn."""
    return pieces_html(formulas_and_words(text))


def pieces_html(pieces: list[str]) -> str:
    """The pieces of a text with its formulas drawn."""
    return "".join(formula_html(one) if is_formula(one) else escape(one) for one in pieces)
