"""Final answers: finding them in a text, and telling whether two of them are the same."""

from misstep.answers._boxes import boxes, last_boxed
from misstep.answers._compare import Comparison, Outcome, compare_texts
from misstep.answers._worker import compare_answers

__all__ = [
    "Comparison",
    "Outcome",
    "boxes",
    "compare_answers",
    "compare_texts",
    "last_boxed",
]
