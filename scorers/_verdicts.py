r"""Reading a verdict: the index in the last `\boxed{}`, or why there is none.

Two readings of the same text. *Strict* is the published rule to the letter. *Lenient* is what the
writer evidently meant. Both take time linear in the text, whatever it holds.
"""

import re

from misstep.verdicts import Reading, Unread, Verdict


def read_verdict(text: str, reading: Reading) -> Verdict | Unread:
    r"""The verdict in a text.

    Args:
        text: What the critic wrote.
        reading: Strict takes the last box, even an empty one, by Python's `int()`. Lenient takes
            the last box that holds one index, looking through markup (`\text{3}`), tag names
            (`paragraph_3`) and remarks (`-1 (not found)`).
    """
    box = last_box(text)
    strict = Unread.NO_BOX if box is None else index_in(box)
    if reading == "strict":
        return strict
    # A last box that holds a bare index is the last that parses, too, unless one is written with a
    # space, as only this reading knows them.
    if isinstance(strict, int) and text.count(r"\boxed") == text.count(_BOX):
        return strict
    boxes = _nested_boxes(text)
    for box in reversed(boxes):
        index = _lenient_index(box)
        if index is not None:
            return index
    return Unread.NOT_AN_INDEX if boxes else Unread.NO_BOX


def last_box(text: str) -> str | None:
    r"""The content of the last `\boxed{…}` up to its first `}`, stripped, as the published rule.

    The same as the last match of the published pattern `\\boxed\{([^}]*)\}`, which takes quadratic
    time on a text of many unclosed boxes.
    """
    box: str | None = None
    start = text.find(_BOX)
    while start >= 0:
        end = text.find("}", start)
        if end < 0:
            break
        box = text[start + len(_BOX) : end]
        start = text.find(_BOX, end)
    return None if box is None else box.strip()


def index_in(box: str) -> Verdict | Unread:
    """The index in a box by the published rule, which is Python's `int()`."""
    try:
        return int(box)
    except ValueError:
        return Unread.NOT_AN_INDEX


_BOX = r"\boxed{"
# One literal first character an alternative, so that the scan between braces is fast.
_BRACE = re.compile(r"\{|\}|\\boxed\s*\{|\\\{|\\\}")
_LONGEST = 1000
"""Characters; a longer box holds prose, not an index."""


def _nested_boxes(text: str) -> list[str]:
    """The contents of all closed boxes in the order of their openings, braces balanced."""
    opened: list[tuple[int, int] | None] = []
    closed: list[tuple[int, int, int]] = []
    for brace in _BRACE.finditer(text):
        match brace.group():
            case r"\{" | r"\}":
                continue
            case "}":
                box = opened.pop() if opened else None
                if box is not None:
                    closed.append((*box, brace.start()))
            case "{":
                opened.append(None)
            case _:
                opened.append(brace.span())
    # Of a box in a box in a box, cutting out each would take quadratic time.
    return [text[a:b] if b - a <= _LONGEST else "" for _, a, b in sorted(closed)]


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
    if isinstance(strict := index_in(box), int):
        return strict
    plain = _SPACING.sub(" ", box.translate(_MINUS)).replace(r"\_", "_")
    while (inner := _WRAPPED.sub(r"\1", plain)) != plain:
        plain = inner
    plain = " ".join(plain.replace("{", "").replace("}", "").split())
    match = _INDEX.fullmatch(plain)
    return int(match[1].replace(" ", "")) if match else None
