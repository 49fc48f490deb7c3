"""Quality control: what an injected error must be, each demand with a name.

A check says why it fails. What cannot be decided fails too, by a name of its own: nothing is
accepted in silence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import floor

from misstep.boxes import boxes, last_boxed
from misstep.forge._arithmetic import false_equations
from misstep.forge._plausible import implausibilities
from misstep.forge._record import Example
from misstep.registry import taxonomy
from misstep.scorers import Comparison, ComparisonOutcome


class Check(StrEnum):
    """The demands on an example."""

    ERROR_IN_LAST_QUARTER = "error_in_last_quarter"
    DIFFERENT_FINAL_ANSWER = "different_final_answer"
    LOGICAL_ERROR_TYPE = "logical_error_type"
    STEPS_FOLLOW_ERROR = "steps_follow_error"
    MAINTAINS_PLAUSIBILITY = "maintains_plausibility"
    MINIMAL = "minimal"
    DECLARED_STEP = "declared_step"
    CONFIRMED = "confirmed"
    """Only where a reviewer was asked."""


AUTOMATIC = tuple(check for check in Check if check is not Check.CONFIRMED)


@dataclass(frozen=True)
class Failure:
    """A check that an example does not pass."""

    check: Check
    reason: str
    """A name, to be counted by."""
    detail: str
    """What was found, for people and for the injector's next attempt."""

    @property
    def name(self) -> str:
        """The check and the reason."""
        return f"{self.check}: {self.reason}"


def late_start(steps: int, fraction: float) -> int:
    """The index of the first step in the late part of a solution."""
    return floor((1 - fraction) * steps)


def slack(steps: int) -> int:
    """By how many steps a modified solution may be longer or shorter."""
    return max(1, steps // 10)


def check_example(example: Example, comparison: Comparison | None) -> list[Failure]:
    """All automatic checks that an example fails.

    Args:
        example: The example.
        comparison: Of the final answer with the right one; None where one of them is missing, and
            for a solution that was left untouched.
    """
    if example.untouched:
        return list(_untouched(example))
    failures = [
        *_position(example),
        *_answer(example, comparison),
        *_kind(example),
        *_following(example),
        *(
            Failure(Check.MAINTAINS_PLAUSIBILITY, reason, detail)
            for reason, detail in implausibilities(example)
        ),
        *_minimal(example),
        *_declared(example),
    ]
    return failures


def _untouched(example: Example) -> Iterator[Failure]:
    if example.steps != example.original_steps:
        yield Failure(Check.MINIMAL, "untouched_changed", "the label is -1, but steps differ")
    if example.error_type:
        yield Failure(Check.DECLARED_STEP, "untouched_with_type", "the label is -1 beside a type")


def _position(example: Example) -> Iterator[Failure]:
    steps, first = (
        len(example.steps),
        late_start(len(example.original_steps), example.late_fraction),
    )
    if not 0 <= example.label < steps:
        detail = f"step {example.label} is not one of 0 to {steps - 1}"
        yield Failure(Check.ERROR_IN_LAST_QUARTER, "step_out_of_range", detail)
    elif example.label < first:
        detail = f"step {example.label} comes before the late part, which starts at step {first}"
        yield Failure(Check.ERROR_IN_LAST_QUARTER, "too_early", detail)


def _answer(example: Example, comparison: Comparison | None) -> Iterator[Failure]:
    check = Check.DIFFERENT_FINAL_ANSWER
    if not example.answer:
        yield Failure(check, "no_right_answer", "the original solution has no boxed answer")
    elif not example.final_answer:
        yield Failure(check, "no_final_answer", "the modified solution states no final answer")
    elif comparison is None or comparison.outcome is ComparisonOutcome.UNDECIDED:
        reason = comparison.reason if comparison else "not compared"
        yield Failure(check, "undecided", f"whether the answers differ is not known: {reason}")
    elif comparison.same:
        spelt = squeezed(example.answer) == squeezed(example.final_answer)
        reason = "same_answer" if spelt else "other_spelling"
        yield Failure(
            check, reason, f"{example.final_answer} is the right answer: {example.answer}"
        )
    if example.final_answer and not states(example.steps[-1], example.final_answer):
        detail = f"the last step does not state the final answer {example.final_answer}"
        yield Failure(check, "not_stated", detail)


def _kind(example: Example) -> Iterator[Failure]:
    if example.error_type not in taxonomy():
        detail = f"{example.error_type!r} is none of {', '.join(taxonomy())}"
        yield Failure(Check.LOGICAL_ERROR_TYPE, "unknown_type", detail)
    if 0 <= example.label < len(example.steps):
        wrong = false_equations(example.steps[example.label])
        # The original is worked out only where it may excuse something.
        before = false_equations("\n".join(example.original_steps)) if wrong else []
        wrong = [equation for equation in wrong if equation not in before]
        if wrong:
            detail = f"the arithmetic does not hold: {'; '.join(wrong)}"
            yield Failure(Check.LOGICAL_ERROR_TYPE, "arithmetic_slip", detail)


def _following(example: Example) -> Iterator[Failure]:
    check = Check.STEPS_FOLLOW_ERROR
    wanted = len(example.original_steps) - slack(len(example.original_steps))
    if len(example.steps) < wanted:
        detail = (
            f"{len(example.steps)} steps of {len(example.original_steps)}: later ones are missing"
        )
        yield Failure(check, "missing_steps", detail)
    if not example.answer or not 0 <= example.label < len(example.steps):
        return
    originals = {plain(step) for step in example.original_steps[example.label :]}
    for index, step in enumerate(example.steps[example.label + 1 :], example.label + 1):
        boxed = any(squeezed(box) == squeezed(example.answer) for box in boxes(step))
        restated = plain(step) in originals and concludes(step, example.answer)
        if boxed or restated:
            detail = f"step {index} falls back to the right answer {example.answer}"
            yield Failure(check, "falls_back", detail)
            return


def _minimal(example: Example) -> Iterator[Failure]:
    before = max(0, example.label)
    kept, original = example.steps[:before], example.original_steps[:before]
    if kept != original:
        pairs = zip(kept, original, strict=False)
        changed = next((i for i, (a, b) in enumerate(pairs) if a != b), len(original))
        detail = f"step {changed}, before the error, is not that of the original"
        yield Failure(Check.MINIMAL, "earlier_step_changed", detail)
    if 0 <= example.label < len(example.steps):
        step = plain(example.steps[example.label])
        if step in {plain(original) for original in example.original_steps}:
            detail = f"step {example.label}, the error, stands like this in the original"
            yield Failure(Check.MINIMAL, "error_step_unchanged", detail)
    most = len(example.original_steps) + slack(len(example.original_steps))
    if len(example.steps) > most:
        detail = f"{len(example.steps)} steps where {most} are the most"
        yield Failure(Check.MINIMAL, "too_many_steps", detail)


def _declared(example: Example) -> Iterator[Failure]:
    if example.flagged is not None and example.flagged != example.label:
        detail = f"step {example.label} is declared, step {example.flagged} is marked"
        yield Failure(Check.DECLARED_STEP, "marked_elsewhere", detail)
    pairs = zip(map(plain, example.steps), map(plain, example.original_steps), strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if first is None or first != example.label:
        where = "nowhere" if first is None else f"at step {first}"
        detail = f"step {example.label} is declared, the solutions first differ {where}"
        yield Failure(Check.DECLARED_STEP, "first_change_elsewhere", detail)


_NUMBERING = re.compile(r"^\s*(?:\*\*)?(?:Step\s+\d+[.:)]?|\(?\d{1,3}[.)])(?:\*\*)?\s*")
_SPACES = re.compile(r"\s+|\\[,;:!]|\\left(?![a-z])|\\right(?![a-z])|\$|\\[()\[\]]")


def squeezed(text: str) -> str:
    """A formula without what does not change it."""
    return _SPACES.sub("", text).replace("\\dfrac", "\\frac").rstrip(".,;")


def plain(step: str) -> str:
    """A step without its number, delimiters, white space and full stop."""
    return squeezed(_NUMBERING.sub("", step))


def states(step: str, answer: str) -> bool:
    """Whether a step states an answer: in its last box, or else anywhere."""
    boxed = last_boxed(step)
    wanted = squeezed(answer)
    if boxed is not None:
        return squeezed(boxed) == wanted
    return re.search(rf"(?<![\w.\\]){re.escape(wanted)}(?![\w])", squeezed(step)) is not None


def concludes(step: str, answer: str) -> bool:
    """Whether a step ends with an answer."""
    return re.search(rf"(?<![\w.\\]){re.escape(squeezed(answer))}\W*$", squeezed(step)) is not None
