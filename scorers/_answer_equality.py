"""Compare two final answers by math-verify, as they are written.

The same text and plain numbers need no math-verify. Everything else is its decision.

Symbolic comparison runs in worker processes that can be stopped, so that no answer delays a run.
Functions import math-verify when they use it, because every start of Inspect imports this module.
"""

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import anyio
import anyio.to_process
from anyio import BrokenWorkerProcess, CapacityLimiter
from anyio.lowlevel import RunVar

LONGEST = 2_000
"""The most characters of an answer that math-verify reads. Real answers are far shorter."""


class ComparisonOutcome(StrEnum):
    """The outcome of a comparison. A comparison that failed is undecided, not a difference."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """Whether two answers are the same, and why."""

    outcome: ComparisonOutcome
    reason: str

    @property
    def same(self) -> bool:
        """Whether the answers are the same. An undecided comparison is not."""
        return self.outcome is ComparisonOutcome.SAME


def compare_plainly(answer: str, target: str) -> Comparison | None:
    """Compare the same text and plain numbers, or return None if that needs math-verify.

    Only what math-verify would decide in the same way is decided here. It calls two numbers equal
    if they are equal to six decimals, so only whole numbers are told apart here.
    """
    if not target.strip():
        return Comparison(ComparisonOutcome.UNDECIDED, "there is no answer to compare with")
    if not answer.strip():
        return Comparison(ComparisonOutcome.DIFFERENT, "the answer is empty")
    if _written(answer) == _written(target):
        return Comparison(ComparisonOutcome.SAME, "the same text")
    given, gold = _number(answer), _number(target)
    if given is not None and given == gold:
        return Comparison(ComparisonOutcome.SAME, "the same number")
    if given is not None and gold is not None and given.denominator == gold.denominator == 1:
        return Comparison(ComparisonOutcome.DIFFERENT, f"{answer.strip()} is not {target.strip()}")
    longest = max(len(answer), len(target))
    if longest > LONGEST:
        return Comparison(
            ComparisonOutcome.UNDECIDED,
            f"an answer of {longest:,} characters is not read as mathematics",
        )
    return None


def compare_texts(answer: str, target: str, seconds: int = 5) -> Comparison:
    """Compare two answers in this thread.

    Call it only in a main thread, because an alarm limits its time, and only if waiting does no
    harm. Otherwise call `compare_answers`. An alarm cannot stop everything: only the end of the
    process stops the computation of a huge power. `seconds` limit reading, and comparing.
    """
    plain = compare_plainly(answer, target)
    if plain is not None:
        return plain
    from math_verify import parse, verify
    from math_verify.errors import TimeoutException

    try:
        given, gold = (
            parse(f"${_written(text)}$", parsing_timeout=seconds, raise_on_error=True)
            for text in (answer, target)
        )
        if not given or not gold:
            unread = answer if not given else target
            return Comparison(
                ComparisonOutcome.UNDECIDED, f"not readable as mathematics: {unread.strip()}"
            )
        same = verify(gold, given, timeout_seconds=seconds, raise_on_error=True)
    except TimeoutException:
        return too_long(answer, target)
    except Exception as error:  # a model's text can fail anywhere in math-verify
        return Comparison(
            ComparisonOutcome.UNDECIDED, f"not comparable: {type(error).__name__}: {error}"
        )
    if same:
        return Comparison(
            ComparisonOutcome.SAME, f"mathematically equal: {answer.strip()}, {target.strip()}"
        )
    return Comparison(
        ComparisonOutcome.DIFFERENT,
        f"{answer.strip()} is not mathematically equal to {target.strip()}",
    )


def load_reader() -> None:
    """Import math-verify, which takes seconds the first time."""
    import math_verify  # noqa: F401


def too_long(answer: str, target: str) -> Comparison:
    """Return the result of a comparison that was stopped."""
    return Comparison(
        ComparisonOutcome.UNDECIDED,
        f"comparing {answer.strip()} with {target.strip()} took too long",
    )


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_MOST_DIGITS = 60


def _written(text: str) -> str:
    """Return an answer on one line, without dollar signs around it and the full stop after it."""
    line = " ".join(text.split())
    while len(line) > 2 and line[0] == line[-1] == "$" and line[-2] != "\\":
        line = line[1:-1].strip()
    return line.rstrip(".")


def _number(text: str) -> Fraction | None:
    """Return a number in digits, without separators; None for everything else."""
    line = _written(text)
    return Fraction(line) if len(line) <= _MOST_DIGITS and _NUMBER.fullmatch(line) else None


_START_UP = 60.0
"""Seconds that a worker may take to load math-verify on a busy machine."""

_workers: RunVar[CapacityLimiter] = RunVar("answer_workers")


async def compare_answers(answer: str, target: str, seconds: int = 10) -> Comparison:
    """Compare two answers mathematically, off the event loop.

    There are at most as many worker processes as cores. A worker that exceeds its time is killed,
    and the comparison is undecided. `seconds` limit reading, and comparing.
    """
    plain = compare_plainly(answer, target)
    if plain is not None:
        return plain
    async with _limiter():
        try:
            with anyio.move_on_after(_START_UP):
                await anyio.to_process.run_sync(load_reader, cancellable=True)
            # The worker's own alarm ends most comparisons; this limit ends the others.
            with anyio.move_on_after(3 * seconds):
                return await anyio.to_process.run_sync(
                    compare_texts, answer, target, seconds, cancellable=True
                )
        except BrokenWorkerProcess as error:
            return Comparison(
                ComparisonOutcome.UNDECIDED, f"the worker that compared it died: {error}"
            )
    return too_long(answer, target)


def _limiter() -> CapacityLimiter:
    try:
        return _workers.get()
    except LookupError:
        limiter = CapacityLimiter(os.cpu_count() or 2)
        _workers.set(limiter)
        return limiter
