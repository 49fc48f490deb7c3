"""Read the mark that a critic gives a solution: correct or not, the first wrong step, and why.

The reply has headed fields. MR-Ben and MR-GSM8K publish a reading each; ours takes what is evident.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from misstep.verdicts import NO_ERROR, Unread, Verdict

_LONGEST_STEP = 30
"""The published readings know the steps up to 29."""

_CORRECTNESS = r"(?:solution correctness|final judge?ment)"
_STEP = r"first error step"
_REASON = r"error (?:reason|analysis)"
_HEADING = r"(?:^|[\s*_#>-]){}[\s*_]*:[\s*_]*"
_WORD = re.compile(r"\b(incorrect|wrong|correct)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Marking:
    """A mark: whether the solution is called correct, and its first wrong step."""

    correct: bool | None
    """None if the reply does not say it."""
    step: str
    """The first wrong step in the words of the reply."""
    reason: str
    both: bool = False
    """The reply has the words of both marks, and either counts (MR-GSM8K's published reading)."""

    def agrees(self, correct: bool) -> bool:
        """Return whether the mark is that of the label."""
        return self.both or self.correct is correct


def read_marking(text: str) -> Marking:
    """Return the mark in a reply: headings in any case and markup, and the line after each."""
    said = _WORD.search(_field(text, _CORRECTNESS))
    return Marking(
        correct=None if said is None else said[1].lower() == "correct",
        step=_field(text, _STEP),
        reason=_rest(text, _REASON),
    )


def marked_step(
    marking: Marking, steps: Sequence[str], numbers: Sequence[int | None] | None, code: bool
) -> Verdict | Unread:
    """Return the index of the first wrong step that a mark names, or why there is none.

    A number is that which a step prints, if the steps print numbers. In code, the line is named
    itself. A step that does not exist gets the index after the last.
    """
    if marking.correct is None:
        return Unread.NO_CONCLUSION
    if marking.correct:
        return NO_ERROR
    if code:
        named = marking.step.strip().strip("`").strip()
        places = [i for i, line in enumerate(steps) if named and line.strip() == named]
        return places[0] if places else len(steps) if named else Unread.NO_SECTION
    digits = re.search(r"\d{1,9}", marking.step)
    if digits is None:
        return Unread.NO_SECTION
    number = int(digits[0])
    printed: list[int | None] = list(numbers or range(1, len(steps) + 1))
    return printed.index(number) if number in printed else len(steps)


def _field(text: str, heading: str) -> str:
    """Return the text after the first heading: the rest of its line, or the next line."""
    return _rest(text, heading).partition("\n")[0]


def _rest(text: str, heading: str) -> str:
    found = re.search(_HEADING.format(heading), text, re.IGNORECASE)
    return text[found.end() :].strip() if found else ""


def read_marking_published(text: str) -> Marking:
    """Return the mark by MR-Ben's code: the first two parts of a split at each heading.

    If a heading is missing, the fields before it stay, and the others are empty.
    """
    fields = ["", "", ""]
    rest = text
    for place, heading in enumerate(("Solution Correctness", "First Error Step", "Error Reason")):
        parts = re.split(rf"\*?\*?{heading}:?\*?\*?:?", rest)[:2]
        if len(parts) < 2:
            break
        if place:
            fields[place - 1] = parts[0]
        rest = parts[1]
        if place == 2:
            fields[2] = rest
    said = "".join(c for c in fields[0] if c.isalpha()).lower()
    correct = {"correct": True, "incorrect": False}.get(said)
    return Marking(correct, fields[1], fields[2])


def published_step(step: str) -> str:
    """Return the number that MR-Ben's code compares with the label; a bare number never counts."""
    words = "".join(c for c in step if c.isalnum() or c.isspace()).lower().strip()
    named = re.fullmatch(r"step (\d+)", words)
    return named[1] if named and int(named[1]) < _LONGEST_STEP else ""


_GSM8K_FIELDS = (
    r"Final Judgement:\s*(.*?)\s*First Error Step:",
    r"First Error Step:\s*(.*?)\s*Error Analysis:",
    r"Error Analysis:\s*(.*)",
)


def read_marking_gsm8k(text: str) -> Marking:
    """Return the mark by MR-GSM8K's code: all three headings, or nothing.

    "incorrect" alone means wrong; otherwise the word of the label must be part of the judgement,
    so "incorrect." counts as correct.
    """
    found = [re.search(pattern, text, re.DOTALL) for pattern in _GSM8K_FIELDS]
    if not all(found):
        return Marking(None, "", "")
    judgement, step, reason = (match[1] for match in found if match is not None)
    said = judgement.strip().lower()
    calls = ("correct" in said and said != "incorrect", "wrong" in said or said == "incorrect")
    correct = {(True, False): True, (False, True): False}.get(calls)
    return Marking(correct, step.strip(), reason, both=all(calls))


def gsm8k_step(step: str) -> str:
    """Return the number that MR-GSM8K's code compares with the label."""
    named = re.fullmatch(r"(?:step )?(\d+)", step.strip().lower())
    return named[1] if named else ""


def reason_is_right(decision: str, published: bool) -> bool | None:
    """Return what a grader decides about a reason; None if it decides nothing.

    The published code looks for "correct" anywhere, so "Incorrect" counts as right.
    """
    final = re.search(r"Final Decision:\s*(.*)", decision, re.DOTALL | re.IGNORECASE)
    said = final[1] if final else ""
    if published:
        return "correct" in said.lower()
    word = _WORD.search(said)
    return None if word is None else word[1].lower() == "correct"
