r"""Read a verdict from text: the index in the last `\boxed{}`, or why there is none.

There are two readings of the same text. *Strict* follows the published rule to the letter.
*Lenient* takes what the writer evidently meant. Both take time linear in the length of the text.
"""

import re

from misstep.boxes import box_spans, last_published_box
from misstep.verdicts import Reading, Unread, Verdict


def read_verdict(text: str, reading: Reading) -> Verdict | Unread:
    r"""Return the verdict in a text.

    Strict applies Python's `int()` to the last box, even to an empty one. Lenient takes the last
    box that holds one index. It ignores markup (`\text{3}`), tag names (`paragraph_3`) and remarks
    (`-1 (not found)`).
    """
    box = last_published_box(text)
    strict = Unread.NO_BOX if box is None else index_in(box)
    if reading == "strict":
        return strict
    # If the last box holds a bare index, then it is also the last box that holds one, unless some
    # box is written with a space before its brace: only the lenient reading knows those.
    plain = isinstance(strict, int) and "_" not in (box or "")
    if plain and text.count(r"\boxed") == text.count(r"\boxed{"):
        return strict
    spans = box_spans(text, latex=False)
    for start, end in reversed(spans):
        index = _lenient_index(text[start:end]) if end - start <= _LONGEST else None
        if index is not None:
            return index
    return Unread.NOT_AN_INDEX if spans else Unread.NO_BOX


def index_in(box: str) -> Verdict | Unread:
    """Return the index in a box by the published rule, which is Python's `int()`."""
    try:
        return int(box)
    except ValueError:
        return Unread.NOT_AN_INDEX


_LONGEST = 1000
"""Characters. A longer box holds prose, not an index."""

_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2014": "-", "$": None, "~": " "})
_SPACING = re.compile(r"\\[,;:! ]|\\q?quad\b|\\[()]")
_WRAPPED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:bf|rm|it|sf|tt)|boldsymbol|bm|emph|underline"
    r"|operatorname|boxed|fbox)\s*\{([^{}]*)\}"
)
_INDEX = re.compile(
    r"<?/?(?:(?:proof[ _]?)?(?:paragraph|step|section|index))?[ _:#=]*"
    r"([-+]? ?\d+)(?:\.0*)?>?[.,;:]?"
    r"(?:[ (][a-z ()'.]*)?",
    re.IGNORECASE,
)


def _lenient_index(box: str) -> Verdict | None:
    # Python reads `1_0` as 10. Nobody writes the index 10 like that.
    if "_" not in box and isinstance(strict := index_in(box), int):
        return strict
    plain = _SPACING.sub(" ", box.translate(_MINUS)).replace(r"\_", "_")
    while (inner := _WRAPPED.sub(r"\1", plain)) != plain:
        plain = inner
    plain = " ".join(plain.replace("{", "").replace("}", "").split())
    match = _INDEX.fullmatch(plain)
    return int(match[1].replace(" ", "")) if match else None
