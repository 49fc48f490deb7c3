r"""The one reader of `\boxed{…}`, linear in the length of the text.

The reader finds positions first and cuts out only what the caller needs: cutting out every box of a
deeply nested text would copy a quadratic amount of text.
"""

import re
from collections.abc import Iterator, Sequence

# Each alternative starts with a literal character, so that the scan between braces is fast.
_LATEX = re.compile(r"\\boxed\s*\{|\\fbox\s*\{|\\\\|\\\{|\\\}|\{|\}")
_REPLY = re.compile(r"\\boxed\s*\{|\\\{|\\\}|\{|\}")

_PUBLISHED = r"\boxed{"


def box_spans(text: str, latex: bool = True) -> list[tuple[int, int]]:
    r"""Return where the content of each closed box starts and ends, in the order of opening.

    Braces are balanced. Unclosed boxes are left out. Nested boxes are all listed. In LaTeX `\fbox`
    is a box too, and `\\` is a line break. Otherwise a `\boxed{` after a backslash is a box too.
    """
    spans: list[tuple[int, int]] = []
    open_braces: list[int | None] = []  # where a box's content starts; None for any other brace
    for brace in (_LATEX if latex else _REPLY).finditer(text):
        mark = brace.group()
        if mark == "{":
            open_braces.append(None)
        elif mark == "}":
            start = open_braces.pop() if open_braces else None
            if start is not None:
                spans.append((start, brace.start()))
        elif len(mark) > 2:
            open_braces.append(brace.end())
    return sorted(spans)


def boxes(text: str, longest: int | None = None) -> Iterator[str]:
    """Yield the content of each closed box of a LaTeX text, without boxes of over `longest`."""
    for start, end in box_spans(text):
        if longest is None or end - start <= longest:
            yield text[start:end].strip()


def last_boxed(text: str) -> str | None:
    """Return the content of the closed box that opens last, stripped, or None without a box."""
    spans = box_spans(text)
    return text[slice(*spans[-1])].strip() if spans else None


def last_published_box(text: str) -> str | None:
    r"""Return the last box by the published rule: up to its first `}`, stripped.

    This is the last match of the published pattern `\\boxed\{([^}]*)\}`. The pattern itself takes
    quadratic time on a text of many unclosed boxes.
    """
    last: tuple[int, int] | None = None
    start = text.find(_PUBLISHED)
    while start >= 0:
        end = text.find("}", start)
        if end < 0:
            break
        last = start + len(_PUBLISHED), end
        start = text.find(_PUBLISHED, end)
    return text[slice(*last)].strip() if last else None


def without_last_box(text: str) -> str:
    r"""Return a reply for people, without the `\boxed{}` of its last box.

    A box that stands alone after the last sentence is left out. Of a box inside a sentence, the
    content stays.
    """
    spans = box_spans(text, latex=False)
    if not spans:
        return text.strip()
    start, end = spans[-1]
    before, after = text[: text.rindex("\\boxed", 0, start)], text[end + 1 :]
    if before.endswith("$") and after.startswith("$"):
        before, after = before.rstrip("$"), after.lstrip("$")
    sentence = before.rstrip(" ")
    if not after.strip(" \n.") and (not sentence or sentence[-1] in ".!?\n"):
        return sentence.strip()
    return f"{before}{text[start:end].strip()}{after}".strip()


_WORD = r"\\boxed\s{0,9}\{\s{0,9}(?:\\text(?:bf)?\s{0,9}\{)?\s{0,9}([^{}\\\s]{1,20})\s{0,9}\}"


def boxed_words(text: str, bracketed: Sequence[str] = ()) -> Iterator[str]:
    r"""Yield each single word in a box, as in `\boxed{right}` or `\boxed{\text{right}}`.

    The words in `bracketed` also count in square or angle brackets, as in `[Right]` and `<Right>`.
    """
    pattern = _WORD
    if bracketed:
        words = "|".join(map(re.escape, bracketed))
        pattern += rf"|\[({words})\]|<({words})>"
    for match in re.finditer(pattern, text, re.IGNORECASE):
        yield match[match.lastindex or 0]
