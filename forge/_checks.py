"""Quality control of injected errors. Every check has a name and a reason for each failure.

A question that a check cannot decide is a failure with a reason of its own, so that no example is
accepted without a decision.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import floor

from misstep.forge._example import Example, read_examples
from misstep.forge._rewritten import (
    compact,
    falls_back,
    new_false_equations,
    only_reworded,
    out_of_nothing,
    plain_step,
    plausibility_problems,
    slips_after_error,
    states,
)
from misstep.loaders import BadRow, read_rows
from misstep.registry import DataError, taxonomy
from misstep.scorers import AnswerComparison, ComparisonOutcome, compare_answers, compare_texts


class Check(StrEnum):
    """The names of the checks."""

    ERROR_IN_LAST_QUARTER = "error_in_last_quarter"
    DIFFERENT_FINAL_ANSWER = "different_final_answer"
    LOGICAL_ERROR_TYPE = "logical_error_type"
    STEPS_FOLLOW_ERROR = "steps_follow_error"
    MAINTAINS_PLAUSIBILITY = "maintains_plausibility"
    MINIMAL = "minimal"
    DECLARED_STEP = "declared_step"
    ORIGINAL_CONFIRMED = "original_confirmed"
    """Reviewers find no error in the original."""
    CONFIRMED = "confirmed"
    """Reviewers find the error at the declared step."""


REVIEW_CHECKS = (Check.ORIGINAL_CONFIRMED, Check.CONFIRMED)
AUTOMATIC_CHECKS = tuple(check for check in Check if check not in REVIEW_CHECKS)
UNTOUCHED_CHECKS = (Check.MINIMAL, Check.DECLARED_STEP)
"""The checks of solutions without an error."""


@dataclass(frozen=True)
class Failure:
    """Why an example or an attempt fails."""

    stage: str
    """The check, or `reply` or `call` if the injector gave no example."""
    reason: str
    """A short name, for counts."""
    detail: str
    """The problem in words, for people and for the injector's next attempt."""

    @property
    def name(self) -> str:
        """The stage and the reason, as in counts."""
        return f"{self.stage}: {self.reason}"


def late_start(steps: int, fraction: float) -> int:
    """Return the index of the first step in the late part of a solution."""
    return floor((1 - fraction) * steps)


def _step_tolerance(steps: int) -> int:
    """Return by how many steps a modified solution may be longer or shorter."""
    return max(1, steps // 10)


def check_example(example: Example, comparison: AnswerComparison | None) -> list[Failure]:
    """Return the failures of all automatic checks of an example.

    AUTOMATIC_CHECKS apply to an example with an error, UNTOUCHED_CHECKS to one without.
    `comparison` compares the final answer with the right one. It is None if one of them is missing.
    """
    if example.untouched:
        return list(_untouched_failures(example))
    return [
        *_position_failures(example),
        *_answer_failures(example, comparison),
        *_type_failures(example),
        *_following_failures(example),
        *(
            Failure(Check.MAINTAINS_PLAUSIBILITY, reason, detail)
            for reason, detail in plausibility_problems(example)
        ),
        *_minimal_failures(example),
        *_declared_failures(example),
    ]


def _untouched_failures(example: Example) -> Iterator[Failure]:
    if example.steps != example.original_steps:
        yield Failure(Check.MINIMAL, "untouched_changed", "the label is -1, but steps differ")
    if example.error_type:
        yield Failure(Check.DECLARED_STEP, "untouched_with_type", "the label is -1 beside a type")


def _position_failures(example: Example) -> Iterator[Failure]:
    steps = len(example.steps)
    first = late_start(len(example.original_steps), example.late_fraction)
    if not 0 <= example.label < steps:
        detail = f"step {example.label} is not one of 0 to {steps - 1}"
        yield Failure(Check.ERROR_IN_LAST_QUARTER, "step_out_of_range", detail)
    elif example.label < first:
        detail = f"step {example.label} comes before the late part, which starts at step {first}"
        yield Failure(Check.ERROR_IN_LAST_QUARTER, "too_early", detail)


def _answer_failures(example: Example, comparison: AnswerComparison | None) -> Iterator[Failure]:
    check = Check.DIFFERENT_FINAL_ANSWER
    if not example.answer:
        yield Failure(check, "no_right_answer", "the original solution has no boxed answer")
    elif not example.final_answer:
        yield Failure(check, "no_final_answer", "the modified solution states no final answer")
    elif comparison is None or comparison.outcome is ComparisonOutcome.UNDECIDED:
        reason = comparison.reason if comparison else "not compared"
        yield Failure(check, "undecided", f"whether the answers differ is not known: {reason}")
    elif comparison.same:
        same_text = compact(example.answer) == compact(example.final_answer)
        reason = "same_answer" if same_text else "other_spelling"
        yield Failure(
            check, reason, f"{example.final_answer} is the right answer: {example.answer}"
        )
    if example.final_answer and not states(example.steps[-1], example.final_answer):
        detail = f"the last step does not state the final answer {example.final_answer}"
        yield Failure(check, "not_stated", detail)


def _type_failures(example: Example) -> Iterator[Failure]:
    if example.error_type not in taxonomy():
        detail = f"{example.error_type!r} is none of {', '.join(taxonomy())}"
        yield Failure(Check.LOGICAL_ERROR_TYPE, "unknown_type", detail)
    if not 0 <= example.label < len(example.steps):
        return
    if wrong := new_false_equations(example, example.steps[example.label]):
        detail = f"the arithmetic does not hold: {'; '.join(wrong)}"
        yield Failure(Check.LOGICAL_ERROR_TYPE, "arithmetic_slip", detail)


def _following_failures(example: Example) -> Iterator[Failure]:
    check = Check.STEPS_FOLLOW_ERROR
    wanted = len(example.original_steps) - _step_tolerance(len(example.original_steps))
    if len(example.steps) < wanted:
        detail = (
            f"{len(example.steps)} steps of {len(example.original_steps)}: later ones are missing"
        )
        yield Failure(check, "missing_steps", detail)
    if not 0 <= example.label < len(example.steps):
        return
    if (index := falls_back(example)) is not None:
        detail = f"step {index} falls back to the right answer {example.answer}"
        yield Failure(check, "falls_back", detail)
    if slip := next(slips_after_error(example), None):
        detail = f"step {slip[0]}, after the error: the arithmetic does not hold: {slip[1]}"
        yield Failure(check, "slip_after_error", detail)
    if source := out_of_nothing(example):
        detail = f"step {source[0]} uses {source[1]}, and nothing before it leads to that number"
        yield Failure(check, "out_of_nothing", detail)


def _minimal_failures(example: Example) -> Iterator[Failure]:
    before = max(0, example.label)
    kept, original = example.steps[:before], example.original_steps[:before]
    if kept != original:
        pairs = zip(kept, original, strict=False)
        changed = next((i for i, (a, b) in enumerate(pairs) if a != b), len(original))
        detail = f"step {changed}, before the error, is not that of the original"
        yield Failure(Check.MINIMAL, "earlier_step_changed", detail)
    if 0 <= example.label < len(example.steps):
        step = plain_step(example.steps[example.label])
        if step in {plain_step(original) for original in example.original_steps}:
            detail = f"step {example.label}, the error, stands like this in the original"
            yield Failure(Check.MINIMAL, "error_step_unchanged", detail)
        elif only_reworded(example):
            detail = f"step {example.label}, the error, says the same in other words"
            yield Failure(Check.MINIMAL, "only_reworded", detail)
    most = len(example.original_steps) + _step_tolerance(len(example.original_steps))
    if len(example.steps) > most:
        detail = f"{len(example.steps)} steps where {most} are the most"
        yield Failure(Check.MINIMAL, "too_many_steps", detail)


def _declared_failures(example: Example) -> Iterator[Failure]:
    if example.flagged is not None and example.flagged != example.label:
        detail = f"step {example.label} is declared, step {example.flagged} is marked"
        yield Failure(Check.DECLARED_STEP, "marked_elsewhere", detail)
    pairs = zip(
        map(plain_step, example.steps), map(plain_step, example.original_steps), strict=False
    )
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if first is None or first != example.label:
        where = "nowhere" if first is None else f"at step {first}"
        detail = f"step {example.label} is declared, the solutions first differ {where}"
        yield Failure(Check.DECLARED_STEP, "first_change_elsewhere", detail)


_WORDED = re.compile(r"\\(?:text|mathrm|textbf|textit|operatorname)\s*\{([^{}]*)\}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")


def compare_final_answer(example: Example) -> AnswerComparison | None:
    """Compare the final answer with the right one in this process, on the main thread.

    None if one of the answers is missing.
    """
    found = _compare_words(example)
    return compare_texts(*found) if isinstance(found, tuple) else found


async def compare_final_answer_async(example: Example) -> AnswerComparison | None:
    """Compare the final answer with the right one in a separate process, for use in a run."""
    found = _compare_words(example)
    return await compare_answers(*found) if isinstance(found, tuple) else found


def _compare_words(example: Example) -> AnswerComparison | tuple[str, str] | None:
    """Compare by the words in the answers, or return the formulas that are left to compare."""
    if not example.answer or not example.final_answer:
        return None
    given, right = example.final_answer, example.answer
    if _WORDED.findall(given) == _WORDED.findall(right):
        # Both have the same words, such as units: the rest decides.
        given, right = _WORDED.sub(" ", given), _WORDED.sub(" ", right)
        if not given.strip() and not right.strip():
            return AnswerComparison(ComparisonOutcome.SAME, "the same words")
    else:
        given, right = _WORDED.sub(r"\1", given), _WORDED.sub(r"\1", right)
    if given.lower().split() == right.lower().split():
        return AnswerComparison(ComparisonOutcome.SAME, "the same words")
    if _WORD.search(given) or _WORD.search(right):
        return AnswerComparison(ComparisonOutcome.UNDECIDED, f"answers in words: {given}; {right}")
    return given, right


@dataclass
class Audit:
    """The results of all checks on a file."""

    examples: list[Example]
    bad: list[BadRow]
    """Rows that are not examples."""
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    """The failures by the id of the example."""

    @property
    def passed(self) -> bool:
        """Whether every row is an example that passes every check."""
        return not self.bad and not self.failures

    @property
    def by_check(self) -> Counter[str]:
        """The number of examples that fail each check."""
        return Counter(
            check
            for failures in self.failures.values()
            for check in {failure.stage for failure in failures}
        )

    @property
    def by_reason(self) -> Counter[tuple[str, str]]:
        """The number of examples that fail each check for each reason."""
        return Counter(
            pair
            for failures in self.failures.values()
            for pair in {(failure.stage, failure.reason) for failure in failures}
        )


def audit(address: str) -> Audit:
    """Check a file of examples from this builder or from elsewhere."""
    examples, bad = read_examples(read_rows(address))
    if not examples and not bad:
        raise DataError(f"{address}: holds no rows.")
    result = Audit(examples, bad)
    for example in examples:
        if failures := check_example(example, compare_final_answer(example)):
            result.failures[example.id] = failures
    return result
