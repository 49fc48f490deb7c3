"""Worked solutions that an error can be injected into, and why others are left out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from misstep.boxes import last_boxed
from misstep.forge._latex import broken_latex
from misstep.forge._split import Cut, Structure, cut_solution

MIN_STEPS = 8


class LeftOut(StrEnum):
    """Why a row is not used."""

    MALFORMED = "malformed_row"
    NO_ANSWER = "no_answer"
    ANSWER_IN_WORDS = "answer_in_words"
    ONE_BLOCK = "one_block"
    TOO_FEW_STEPS = "too_few_steps"
    NOT_ENGLISH = "not_english"
    BROKEN_LATEX = "broken_latex"


@dataclass(frozen=True, slots=True)
class Worked:
    """A problem with its solution in steps and its answer."""

    id: str
    source: str
    problem: str
    solution: str
    steps: list[str]
    answer: str


@dataclass(frozen=True, slots=True)
class Examined:
    """What a row was found to be."""

    source: str
    characters: int
    cut: Cut | None
    """None where the row holds no solution."""
    found: Worked | LeftOut


def examine(number: int, row: object, min_steps: int = MIN_STEPS) -> Examined:
    """Read a row of a corpus, and decide whether it can be used.

    Args:
        number: The row's number, which names it where it has no id.
        row: What stands there: problem, solution, and perhaps source, answer and id.
        min_steps: The fewest steps that a solution must have.
    """
    if not isinstance(row, Mapping):
        return Examined("", 0, None, LeftOut.MALFORMED)
    problem, solution = row.get("problem"), row.get("solution")
    source = str(row.get("source") or "unnamed")
    if not isinstance(problem, str) or not isinstance(solution, str) or not solution.strip():
        return Examined(source, 0, None, LeftOut.MALFORMED)
    cut = cut_solution(solution)
    found: Worked | LeftOut
    answer = _answer(solution, row)
    if answer is None:
        found = LeftOut.NO_ANSWER
    elif _WORDS.fullmatch(answer):
        found = LeftOut.ANSWER_IN_WORDS
    elif cut.structure is Structure.BLOCK:
        found = LeftOut.ONE_BLOCK
    elif len(cut.steps) < min_steps:
        found = LeftOut.TOO_FEW_STEPS
    elif not is_english(f"{problem[:_ENOUGH]} {solution[:_ENOUGH]}"):
        found = LeftOut.NOT_ENGLISH
    elif broken_latex(solution):
        found = LeftOut.BROKEN_LATEX
    else:
        # Stripped, since steps that a model writes have no white space around them either.
        steps = [step.strip() for step in cut.steps]
        found = Worked(_id(number, row), source, problem.strip(), solution, steps, answer)
    return Examined(source, len(solution), cut, found)


def _id(number: int, row: Mapping[str, Any]) -> str:
    given = row.get("id")
    return str(given) if isinstance(given, str | int) else f"row-{number:07}"


_WORDS = re.compile(r"(?:\s|\\(?:text|mathrm|textbf)\s*\{[^{}]*\}|\\blacksquare|\\square|[.$])*")
"""An answer of words alone, as proofs have: nothing that could be compared."""

_PLACEHOLDERS = frozenset({"", "see solution", "proof", "notfound", "none"})


def _answer(solution: str, row: Mapping[str, Any]) -> str | None:
    r"""What the last closed `\boxed{}` holds, else the row's own `answer`."""
    place = solution.rfind("\\boxed")
    boxed = None
    if place >= 0:
        # Mostly the last box closes, and nothing before it need be read.
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
_TELLING = _ENGLISH | _OTHER
_FOREIGN_SCRIPT = re.compile(r"[\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u3040-\u30ff\u4e00-\u9fff]")
_FEW_LETTERS = 0.01
_ENOUGH = 1000
"""Characters to know a language by."""


def is_english(text: str) -> bool:
    """Whether a text is written in English, by its script and its smallest words."""
    few = _FEW_LETTERS * len(text)
    # The bytes tell at once that there are too few letters of another script.
    if len(text.encode(errors="replace")) - len(text) > few:
        return len(_FOREIGN_SCRIPT.findall(text)) <= few
    telling = [word for word in text.lower().split() if word in _TELLING]
    return 2 * sum(map(_ENGLISH.__contains__, telling)) >= len(telling)
