"""LaTeX formulas as MathML, which browsers draw without a library. All other text is escaped."""

import re
from bisect import bisect_right
from html import escape, unescape
from xml.etree.ElementTree import Element

from misstep.forge import display_spans, inline_spans

_MAX_CHARACTERS = 1500
"""A longer formula is shown as LaTeX source."""

# The library copies text of the formula into elements and attributes. Only these are kept.
_TAGS = re.findall(
    r"\w+",
    "math mrow mi mn mo mtext mfrac msup msub msubsup msqrt mroot mtable mtr mtd mover munder "
    "munderover mspace mstyle mpadded mphantom mmultiscripts mprescripts none",
)
_ATTRIBUTES = re.findall(
    r"\w+",
    "stretchy fence form width linebreak mathvariant lspace rspace accent accentunder "
    "separator minsize maxsize movablelimits displaystyle",
)
_VALUE = re.compile(r"[\w.#%+-]*")
_DELIMITERS = re.compile(r"^(?:\\\[|\\\(|\$\$?)|(?:\\\]|\\\)|\$\$?)$")
_ALIGNED = re.compile(r"\\(begin|end)\s*\{(?:align|aligned|gather|gathered|split|eqnarray)\*?\}")


def formula_html(source: str) -> str:
    """Return a formula with its delimiters as MathML, or its LaTeX source if that fails."""
    display = source.startswith(("\\[", "$$", "\\begin"))
    body = _DELIMITERS.sub("", _DELIMITERS.sub("", source)).strip()
    # The library does not know these environments. A table of two columns looks the same.
    body = _ALIGNED.sub(lambda m: "\\begin{array}{rl}" if m[1] == "begin" else "\\end{array}", body)
    if body and len(body) <= _MAX_CHARACTERS:
        try:
            from latex2mathml.converter import convert_to_element

            element = convert_to_element(body, display="block" if display else "inline")
            return _element_html(element, display)
        except Exception:  # noqa: S110 (text from a model can fail anywhere in the library)
            pass
    return f"<code>{escape(source)}</code>"


def _element_html(element: Element, display: bool = False) -> str:
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
        _element_html(child) + escape(unescape(child.tail or "")) for child in element
    )
    return f"<{tag}{extra}>{inner}</{tag}>"


def formulas_and_words(text: str) -> list[str]:
    """Return the formulas, words and separators of a text. Joined, they are the text."""
    pieces: list[str] = []
    place = 0
    spans = display_spans(text)
    ends = [end for _, end in spans]
    for inline in inline_spans(text):
        following = bisect_right(ends, inline[0])  # the first display formula that ends after it
        if following == len(ends) or spans[following][0] >= inline[1]:
            spans.append(inline)
    for start, end in sorted(spans):
        pieces += re.findall(r"\w+|\s+|[^\w\s]", text[place:start])
        pieces.append(text[start:end])
        place = end
    return pieces + re.findall(r"\w+|\s+|[^\w\s]", text[place:])


def is_formula(piece: str) -> bool:
    """Return whether a piece is a formula with its delimiters."""
    return len(piece) > 2 and piece.startswith(("\\[", "\\(", "$", "\\begin"))


def text_html(text: str) -> str:
    """Return a text as HTML with its formulas as MathML."""
    return pieces_html(formulas_and_words(text))


def pieces_html(pieces: list[str]) -> str:
    """Return the pieces of a text as HTML with its formulas as MathML."""
    return "".join(formula_html(piece) if is_formula(piece) else escape(piece) for piece in pieces)
