"""The final answer of an example beside the right one."""

import re

from misstep.forge._record import Example
from misstep.scorers import Comparison, ComparisonOutcome, compare_answers, compare_texts

_WORDED = re.compile(r"\\(?:text|mathrm|textbf|textit|operatorname)\s*\{([^{}]*)\}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")


def compared(example: Example) -> Comparison | None:
    """Compare here and now; None where an answer is missing. For a main thread."""
    found = _by_words(example)
    return compare_texts(*found) if isinstance(found, tuple) else found


async def compared_aside(example: Example) -> Comparison | None:
    """Compare in a process of its own, for use in a run."""
    found = _by_words(example)
    return await compare_answers(*found) if isinstance(found, tuple) else found


def _by_words(example: Example) -> Comparison | tuple[str, str] | None:
    """What can be told by the words in the answers, else the formulas that are left to compare."""
    if not example.answer or not example.final_answer:
        return None
    given, right = example.final_answer, example.answer
    if _WORDED.findall(given) == _WORDED.findall(right):
        # The same words on both sides, such as units: what is around them decides.
        given, right = _WORDED.sub(" ", given), _WORDED.sub(" ", right)
        if not given.strip() and not right.strip():
            return Comparison(ComparisonOutcome.SAME, "the same words")
    else:
        given, right = _WORDED.sub(r"\1", given), _WORDED.sub(r"\1", right)
    if given.lower().split() == right.lower().split():
        return Comparison(ComparisonOutcome.SAME, "the same words")
    if _WORD.search(given) or _WORD.search(right):
        return Comparison(ComparisonOutcome.UNDECIDED, f"answers in words: {given}; {right}")
    return given, right
