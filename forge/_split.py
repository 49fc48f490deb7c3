"""Splitting a worked solution into steps by its own structure.

Steps are numbered lines, headings and paragraphs. If there are only few of these, every line is a
step. If there are only few lines, every sentence is a step. No step ends inside a display formula,
an environment or a code block. Joined, the steps are the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from misstep.forge._latex import Span, display_spans, inline_spans

_FEW = 4
"""With fewer pieces, the next finer structure is tried."""

_MARKED = re.compile(
    r"\n(?=[- \tS\d(*•\#])[ \t]*+(?=[-S\d(*•\#])(?:"
    r"(?P<numbered>(?:\*\*)?(?:Step[ \t]+\d{1,3}\b|\(?\d{1,3}[.)](?=\**[ \t\n])))|"
    r"(?P<heading>\#{1,6}[ \t]*\S|\*\*[^*\n]+\*\*:?[ \t]*(?=\n|$))|"
    r"[-*•][ \t]|\([a-zA-Z]{1,4}\)[ \t])"
)
"""The start of a line with a number, a heading or a bullet. The lookaheads make it fast."""
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*+\n)++([^\S\n]*+)")
_LINE = re.compile(r"\n[ \t]*(?=\S)")
_SENTENCE = re.compile(r"(?:[.!?][\"')*]*|\\\][.,]?|\$\$[.,]?)\s+(?=[A-Z\\$(])|[。！？]\s*(?=\S)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|Fig|Eq|Dr|Mr|Mrs|St|No)|\b[A-Z])\.\s+$")
_CONTINUES = re.compile(r"[ \t]*(?:\\\[|\$\$|\\begin\b|[a-z,;:.)\]}=])")
"""A start that continues the sentence before it: a display formula or a small letter."""
_LOOSE_HEADING = re.compile(r"\#{1,6}[^\n]*|\*\*[^*\n]+\*\*:?")


class Structure(StrEnum):
    """The structure that a solution is split by."""

    NUMBERED = "numbered"
    PARAGRAPHS = "paragraphs"
    LINES = "lines"
    SENTENCES = "sentences"
    BLOCK = "one block"


@dataclass(frozen=True, slots=True)
class SplitSolution:
    """The steps of a solution, and the structure they were split by."""

    structure: Structure
    steps: list[str]


def split_steps(text: str) -> list[str]:
    """Return the steps of a worked solution. Joined, they are the text."""
    return split_solution(text).steps


def split_solution(text: str) -> SplitSolution:
    """Return the steps of a worked solution and the structure they were split by."""
    spans = display_spans(text)
    marked = [(found.start() + 1, found.lastgroup) for found in _MARKED.finditer(text)]
    numbered = sum(kind == "numbered" for _, kind in marked)
    # In a solution with numbered lines, bullets belong to their line.
    starts = {place for place, kind in marked if kind or numbered < 2}
    cuts = _outside({*starts, *_paragraphs(text, numbered > 0)}, spans)
    structure = Structure.NUMBERED if numbered > 1 else Structure.PARAGRAPHS
    pieces = _pieces(text, cuts)
    if len(pieces) < _FEW:
        structure = Structure.LINES
        cuts |= _outside(_line_starts(text), spans)
        pieces = _pieces(text, cuts)
    if len(pieces) < _FEW:
        structure = Structure.SENTENCES
        cuts |= _outside(_sentences(text), sorted([*spans, *inline_spans(text)]))
        pieces = _pieces(text, cuts)
    return SplitSolution(structure if len(pieces) > 1 else Structure.BLOCK, pieces)


def _outside(places: Iterable[int], spans: list[Span]) -> set[int]:
    """Return the places that are inside no span."""
    kept: set[int] = set()
    following = iter(spans)
    start, end = next(following, (inf, inf))
    for place in sorted(places):
        while end <= place:
            start, end = next(following, (inf, inf))
        if place <= start:
            kept.add(place)
    return kept


def _paragraphs(text: str, numbered: bool) -> Iterator[int]:
    """Yield the starts of paragraphs. An indented one belongs to the numbered line before it."""
    # Without the limit, the search would read white space at the end again from each line.
    for found in _PARAGRAPH.finditer(text, 0, len(text.rstrip())):
        indent = len(found[1])
        if not (numbered and indent >= 2) and not _CONTINUES.match(text, found.end()):
            yield found.end() - indent


def _line_starts(text: str) -> Iterator[int]:
    """Yield the starts of lines that do not continue the line before."""
    for found in _LINE.finditer(text):
        if not _CONTINUES.match(text, found.start() + 1):
            yield found.start() + 1


def _sentences(text: str) -> Iterator[int]:
    for found in _SENTENCE.finditer(text):
        if not _ABBREVIATION.search(text, max(0, found.start() - 6), found.end()):
            yield found.end()


def _pieces(text: str, cuts: Iterable[int]) -> list[str]:
    """Return the text cut at places. A heading or a piece without words joins the next piece."""
    pieces: list[str] = []
    held = start = 0
    for place in [*sorted(cuts), len(text)]:
        piece = text[start:place]
        start = place
        content = _has_content(piece)
        if not content and place < len(text):
            continue
        if not content and pieces:
            pieces[-1] += text[held:place]
        elif place > held:
            pieces.append(text[held:place])
        held = place
    return pieces


def _has_content(piece: str) -> bool:
    text = piece.strip()
    if text[:1].isalnum():
        return True
    return any(map(str.isalnum, text)) and not _LOOSE_HEADING.fullmatch(text)
