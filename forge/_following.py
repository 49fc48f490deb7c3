"""Checks of what a modified solution does with the error: its later steps must follow from it."""

import re
from collections.abc import Iterator

from misstep.arithmetic import false_equations
from misstep.boxes import box_spans, boxes, last_boxed
from misstep.forge._example import Example

_NUMBERING = re.compile(r"^\s*(?:\*\*)?(?:Step\s+\d+[.:)]?|\(?\d{1,3}[.)])(?:\*\*)?\s*")
_SPACE_IN_BOX = 200
"""Characters that spaces and delimiters may add to an answer in a box."""
_SPACES = re.compile(r"\s+|\\[,;:!]|\\left(?![a-z])|\\right(?![a-z])|\$|\\[()\[\]]")
_LONGEST_ENDING = 600
"""Characters at the end of a step in which an answer is searched."""
_START = r"(?<![\w.\\])"
"""A place that is not inside a word, a number or a command."""


def compact(text: str) -> str:
    """Return a formula without spaces, delimiters and other signs that do not change it."""
    return _SPACES.sub("", text).replace("\\dfrac", "\\frac").rstrip(".,;")


def without_number(step: str) -> str:
    """Return a step without its number."""
    return _NUMBERING.sub("", step)


def plain_step(step: str) -> str:
    """Return a step without its number, delimiters, white space and full stop."""
    return compact(without_number(step))


def states(step: str, answer: str) -> bool:
    """Return whether a step states an answer: in its last box, or anywhere if it has no box."""
    boxed = last_boxed(step)
    wanted = compact(answer)
    if boxed is not None:
        return compact(boxed) == wanted
    text = compact(step)
    return wanted in text and re.search(rf"{_START}{re.escape(wanted)}(?!\w)", text) is not None


def _ends_with(step: str, answer: str) -> bool:
    """Return whether a step ends with an answer; only signs may follow it."""
    wanted = compact(answer)
    text = step.rstrip(" \t\r\n.,;:!)]}$*\\")
    # Brackets at the end may belong to the answer: as many are put back as it has.
    text += step[len(text) : len(text) + len(wanted) - len(wanted.rstrip(")]}*"))]
    tail = text[-(2 * len(answer) + _SPACE_IN_BOX) :][-_LONGEST_ENDING:]
    for start in range(len(tail)):
        follows_word = start and (tail[start - 1].isalnum() or tail[start - 1] in "._\\")
        if not follows_word and compact(tail[start:]) == wanted:
            return True
    return False


_CONCLUDES = re.compile(r"\b(?:answers?|results?|conclu\w+|finally|therefore|hence|thus)\b", re.I)


def falls_back(example: Example) -> int | None:
    """Return the index of the first step after the error that states the right answer, or None."""
    if not example.answer:
        return None
    originals = {plain_step(step) for step in example.original_steps[example.label :]}
    right, longest = compact(example.answer), 2 * len(example.answer) + _SPACE_IN_BOX
    before = compact("\n".join(example.steps[: example.label + 1]))
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        if any(compact(box) == right for box in boxes(step, longest)):
            return index
        if _ends_with(step, example.answer) and (
            plain_step(step) in originals or (_CONCLUDES.search(step) and f"={right}" not in before)
        ):
            return index
    return None


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_COMPUTES = re.compile(
    r"[=+×÷*/^≈≤≥<>%−]|\d\s{0,3}-\s{0,3}\d|[A-Za-z]_|\\(?:times|cdot|div|[dt]?frac|sqrt|binom|approx|"
    r"leq?|geq?|pm|sum|prod|equiv|in|mid)(?![A-Za-z])|\b(?:times|plus|minus|divided|half|twice|sum|"
    r"product|difference|total|add|subtract|multipl)",
    re.IGNORECASE,
)
"""Signs and words of a computation, a comparison or an equation."""
_COMMON_NUMBERS = {str(number) for number in [*range(13), 16, 20, 24, 30, 45, 60, 90, 100, 180]}
_COMMON_NUMBERS |= {"270", "360", "1000"}
"""Numbers that need no source."""
_FORMULA_ENDS = re.compile(r"[;:.]\s|\\[()\[\]]|\$|\n")
_SUM_OF_NUMBERS = re.compile(r"\d\s{0,3}(?:[-+×*−]|\\times|\\cdot)\s{0,3}\d")
_LETTER = re.compile(r"[A-Za-z]")
_COMMAND = re.compile(r"\\[A-Za-z]+")


def out_of_nothing(example: Example) -> tuple[int, str] | None:
    """Return the first step after the error with a number that nothing leads to, and the number.

    A number has a source if it stands in the problem or an earlier step, or if the step computes
    it. An operand of a sum or product of numbers is not computed.
    """
    known = _numbers(example.problem) | _COMMON_NUMBERS
    known |= _numbers("\n".join(map(without_number, example.steps[: example.label + 1])))
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        text = without_number(step)
        new = _numbers(text) - known
        if new:
            found = new & _operands(text) if _COMPUTES.search(_without_boxes(text)) else new
            if found:
                return index, min(found, key=lambda number: (-len(number), number))
        known |= new
    return None


def _numbers(text: str) -> set[str]:
    plain = text.replace("{,}", "").replace("\\,", "")
    return {found.group().replace(",", "").lstrip("0") or "0" for found in _NUMBER.finditer(plain)}


def _without_boxes(text: str) -> str:
    """Return a text without what stands in boxes: a fraction there is stated, not computed."""
    parts, place = [], 0
    for start, end in box_spans(text):
        if start >= place:
            parts.append(text[place:start])
            place = end
    return "".join([*parts, text[place:]])


def _operands(text: str) -> set[str]:
    """Return the numbers in sums and products of plain numbers that no equation gives."""
    operands: set[str] = set()
    results: set[str] = set()
    for formula in _FORMULA_ENDS.split(text):
        first, _, rest = formula.partition("=")
        results |= _numbers(rest)
        # With a letter in it, a sum is more than numbers.
        if rest and _SUM_OF_NUMBERS.search(first) and not _LETTER.search(_COMMAND.sub("", first)):
            operands |= _numbers(first)
    return operands - results


def slips_after_error(example: Example) -> Iterator[tuple[int, str]]:
    """Yield the steps after the error with a new equation that does not hold."""
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        for equation in new_false_equations(example, step):
            yield index, equation


def new_false_equations(example: Example, step: str) -> list[str]:
    """Return the false equations of a step that do not stand in the original solution."""
    wrong = false_equations(step)
    if not wrong:
        return []
    before = {found for original in example.original_steps for found in false_equations(original)}
    return [equation for equation in wrong if equation not in before]
