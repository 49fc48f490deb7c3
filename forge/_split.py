"""Cutting a worked solution into steps, by the structure that is there.

Numbered lines, headings and paragraphs come first; where there are few of them, lines; where there
are few of those too, the sentences of the prose. A cut never falls inside a display formula, an
environment or a block of code, and the steps joined are the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from misstep.forge._latex import Span, display_spans, inline_spans

FEW = 4
"""With fewer pieces than this, a structure is not what the solution is made of."""

_MARKED = re.compile(
    r"\n(?=[- \tS\d(*•\#])[ \t]*+(?=[-S\d(*•\#])(?:"
    r"(?P<numbered>(?:\*\*)?(?:Step[ \t]+\d{1,3}\b|\(?\d{1,3}[.)](?=\**[ \t\n])))|"
    r"(?P<heading>\#{1,6}[ \t]*\S|\*\*[^*\n]+\*\*:?[ \t]*(?=\n|$))|"
    r"[-*•][ \t]|\([a-zA-Z]{1,4}\)[ \t])"
)
"""A line with a number, a heading or a bullet; what is asked ahead settles most lines."""
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*+\n)++([^\S\n]*+)")
_LINE = re.compile(r"\n[ \t]*(?=\S)")
_SENTENCE = re.compile(r"(?:[.!?][\"')*]*|\\\][.,]?|\$\$[.,]?)\s+(?=[A-Z\\$(])|[。！？]\s*(?=\S)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|Fig|Eq|Dr|Mr|Mrs|St|No)|\b[A-Z])\.\s+$")
_CONTINUES = re.compile(r"[ \t]*(?:\\\[|\$\$|\\begin\b|[a-z,;:.)\]}=])")
"""What carries on the sentence before it: a display formula, or a small letter."""
_LOOSE_HEADING = re.compile(r"\#{1,6}[^\n]*|\*\*[^*\n]+\*\*:?")


class Structure(StrEnum):
    """What a solution is cut by."""

    NUMBERED = "numbered"
    PARAGRAPHS = "paragraphs"
    LINES = "lines"
    SENTENCES = "sentences"
    BLOCK = "one block"


@dataclass(frozen=True, slots=True)
class Cut:
    """A solution in steps, and what they are."""

    structure: Structure
    steps: list[str]


def split_steps(text: str) -> list[str]:
    """The steps of a worked solution; joined, they are the text.

    Args:
        text: The solution.
    """
    return cut_solution(text).steps


def cut_solution(text: str) -> Cut:
    """The steps of a worked solution, and the structure that they were found by."""
    spans = display_spans(text)
    marked = [(found.start() + 1, found.lastgroup) for found in _MARKED.finditer(text)]
    numbered = sum(kind == "numbered" for _, kind in marked)
    # Where lines are numbered, bullets are parts of them.
    starts = {place for place, kind in marked if kind or numbered < 2}
    cuts = _outside({*starts, *_paragraphs(text, numbered > 0)}, spans)
    structure = Structure.NUMBERED if numbered > 1 else Structure.PARAGRAPHS
    pieces = _pieces(text, cuts)
    if len(pieces) < FEW:
        structure = Structure.LINES
        cuts |= _outside(_continued(text, _line_starts(text)), spans)
        pieces = _pieces(text, cuts)
    if len(pieces) < FEW:
        structure = Structure.SENTENCES
        cuts |= _outside(_sentences(text), sorted([*spans, *inline_spans(text)]))
        pieces = _pieces(text, cuts)
    return Cut(structure if len(pieces) > 1 else Structure.BLOCK, pieces)


def _outside(places: Iterable[int], spans: list[Span]) -> set[int]:
    """The places that are in no span."""
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
    """Where paragraphs start; one that is indented belongs to the numbered line before it."""
    # White space at the end is no paragraph, and would be gone over again from each of its lines.
    for found in _PARAGRAPH.finditer(text, 0, len(text.rstrip())):
        indent = len(found[1])
        if not (numbered and indent >= 2) and not _CONTINUES.match(text, found.end()):
            yield found.end() - indent


def _line_starts(text: str) -> Iterator[int]:
    for found in _LINE.finditer(text):
        yield found.start() + 1


def _sentences(text: str) -> Iterator[int]:
    for found in _SENTENCE.finditer(text):
        if not _ABBREVIATION.search(text, max(0, found.start() - 6), found.end()):
            yield found.end()


def _continued(text: str, starts: Iterable[int]) -> list[int]:
    """The starts whose text does not carry on what stands before."""
    return [start for start in starts if not _CONTINUES.match(text, start)]


def _pieces(text: str, cuts: Iterable[int]) -> list[str]:
    """The text cut at places; a heading, or a piece of no words, goes with what follows."""
    pieces: list[str] = []
    held = start = 0
    for place in [*sorted(cuts), len(text)]:
        piece = text[start:place]
        start = place
        speaks = _says_something(piece)
        if not speaks and place < len(text):
            continue
        if not speaks and pieces:
            pieces[-1] += text[held:place]
        elif place > held:
            pieces.append(text[held:place])
        held = place
    return pieces


def _says_something(piece: str) -> bool:
    text = piece.strip()
    if text[:1].isalnum():
        return True
    return any(map(str.isalnum, text)) and not _LOOSE_HEADING.fullmatch(text)
