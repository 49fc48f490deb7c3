"""Worked solutions of a corpus: their steps, which rows can be used, and counts by source.

A solution is split by its own structure. Steps are numbered lines, headings and paragraphs. If
there are only few of these, every line is a step. If there are only few lines, every sentence is a
step. No step ends inside a display formula, an environment or a code block. Joined, the steps are
the text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

from misstep.boxes import last_boxed
from misstep.forge._latex import Span, broken_latex, display_spans, inline_spans
from misstep.loaders import RawRow
from misstep.plain_text import check_name, printable

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


def split_solution(text: str) -> SplitSolution:
    """Return the steps of a worked solution and the structure they were split by.

    Joined, the steps are the text.
    """
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


MIN_STEPS = 8


class SkipReason(StrEnum):
    """Why a row is not used."""

    MALFORMED = "malformed_row"
    NO_ANSWER = "no_answer"
    ANSWER_IN_WORDS = "answer_in_words"
    ONE_BLOCK = "one_block"
    TOO_FEW_STEPS = "too_few_steps"
    NOT_ENGLISH = "not_english"
    BROKEN_LATEX = "broken_latex"


@dataclass(frozen=True, slots=True)
class WorkedSolution:
    """A problem with its solution in steps and its answer."""

    id: str
    source: str
    problem: str
    solution: str
    steps: list[str]
    answer: str


@dataclass(frozen=True, slots=True)
class ExaminedRow:
    """A row of a corpus, and whether it can be used."""

    source: str
    characters: int
    split: SplitSolution | None
    """None if the row has no solution."""
    result: WorkedSolution | SkipReason


def examine_row(number: int, row: object, min_steps: int = MIN_STEPS) -> ExaminedRow:
    """Read a row of a corpus, and decide whether it can be used.

    A row has `problem`, `solution`, and optionally `source`, `answer` and `id`.
    """
    if not isinstance(row, Mapping):
        return ExaminedRow("", 0, None, SkipReason.MALFORMED)
    problem, solution = row.get("problem"), row.get("solution")
    source = str(row.get("source") or "unnamed")
    if not isinstance(problem, str) or not isinstance(solution, str) or not solution.strip():
        return ExaminedRow(source, 0, None, SkipReason.MALFORMED)
    sample_id = _row_id(number, row)
    try:
        check_name(sample_id), check_name(source)
    except ValueError:
        return ExaminedRow(printable(source), 0, None, SkipReason.MALFORMED)
    split = split_solution(solution)
    answer = _answer(solution, row)
    result: WorkedSolution | SkipReason
    if answer is None:
        result = SkipReason.NO_ANSWER
    elif _WORDS.fullmatch(answer):
        result = SkipReason.ANSWER_IN_WORDS
    elif split.structure is Structure.BLOCK:
        result = SkipReason.ONE_BLOCK
    elif len(split.steps) < min_steps:
        result = SkipReason.TOO_FEW_STEPS
    elif not is_english(f"{problem[:_LANGUAGE_SAMPLE]} {solution[:_LANGUAGE_SAMPLE]}"):
        result = SkipReason.NOT_ENGLISH
    elif broken_latex(solution):
        result = SkipReason.BROKEN_LATEX
    else:
        # Steps are stripped because models write steps without white space around them.
        steps = [step.strip() for step in split.steps]
        result = WorkedSolution(sample_id, source, problem.strip(), solution, steps, answer)
    return ExaminedRow(source, len(solution), split, result)


def _row_id(number: int, row: Mapping[str, Any]) -> str:
    given = row.get("id")
    return str(given) if isinstance(given, str | int) else f"row-{number:07}"


_WORDS = re.compile(r"(?:\s|\\(?:text|mathrm|textbf)\s*\{[^{}]*\}|\\blacksquare|\\square|[.$])*")
"""An answer of words only, as in proofs. It cannot be compared."""

_PLACEHOLDERS = frozenset({"", "see solution", "proof", "notfound", "none"})


def _answer(solution: str, row: Mapping[str, Any]) -> str | None:
    r"""Return the content of the last closed `\boxed{}`, else the row's own `answer`."""
    place = solution.rfind("\\boxed")
    boxed = None
    if place >= 0:
        # Most often the last box is closed, and the text before it need not be read.
        boxed = last_boxed(solution[place:]) if solution[place - 1 : place] != "\\" else None
        if boxed is None:
            boxed = last_boxed(solution)
    given = row.get("answer")
    if not boxed and isinstance(given, str) and given.strip().lower() not in _PLACEHOLDERS:
        boxed = given.strip()
    return boxed or None


_ENGLISH = frozenset(["the", "is", "of", "we", "and", "that", "for", "to"])
_OTHER = frozenset(
    word
    for words in ("le la les que est", "der die und ist", "el los una", "di che", "het een", "och")
    for word in words.split()
)
_FUNCTION_WORDS = _ENGLISH | _OTHER
_FOREIGN_SCRIPT = re.compile(r"[\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u3040-\u30ff\u4e00-\u9fff]")
_FOREIGN_SHARE = 0.01
_LANGUAGE_SAMPLE = 1000
"""Characters that the language is decided by."""


def is_english(text: str) -> bool:
    """Return whether a text is English, by its script and its function words."""
    allowed = _FOREIGN_SHARE * len(text)
    # If the text has few multi-byte characters, it has few letters of another script.
    if len(text.encode(errors="replace")) - len(text) > allowed:
        return len(_FOREIGN_SCRIPT.findall(text)) <= allowed
    words = [word for word in text.lower().split() if word in _FUNCTION_WORDS]
    return 2 * sum(map(_ENGLISH.__contains__, words)) >= len(words)


@dataclass
class SolutionCounts:
    """Counts over the rows of one source, or of all sources."""

    rows: int = 0
    usable: int = 0
    characters: int = 0
    """The length of all solutions together."""
    steps: Counter[int] = field(default_factory=Counter)
    """The number of solutions by their number of steps."""
    structures: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, row: ExaminedRow) -> None:
        """Count a row."""
        self.rows += 1
        self.characters += row.characters
        if row.split is not None:
            self.steps[len(row.split.steps)] += 1
            self.structures[row.split.structure] += 1
        if isinstance(row.result, WorkedSolution):
            self.usable += 1
        else:
            self.left_out[row.result] += 1

    @property
    def median_steps(self) -> int:
        """The median number of steps."""
        half, seen = 0.5 * self.steps.total(), 0
        for steps in sorted(self.steps):
            seen += self.steps[steps]
            if seen >= half:
                return steps
        return 0

    @property
    def mean_characters(self) -> float:
        """The mean length of a solution."""
        return self.characters / self.rows if self.rows else 0.0


@dataclass
class Analysis:
    """Counts of a corpus. The size depends on the number of sources, not on the number of rows."""

    everything: SolutionCounts = field(default_factory=SolutionCounts)
    sources: dict[str, SolutionCounts] = field(default_factory=dict)


def analyse(rows: Iterable[RawRow], min_steps: int) -> Analysis:
    """Read a corpus once, and count structures, lengths and steps by source."""
    analysis = Analysis()
    for number, row in rows:
        examined = examine_row(number, row, min_steps)
        analysis.everything.add(examined)
        analysis.sources.setdefault(examined.source, SolutionCounts()).add(examined)
    return analysis
