"""Final answers: are two mathematically equal, the scorer, and its metrics.

All samples stay in the denominator. A run registers few metrics. `answer_table` has all.

Equal texts and plain numbers are compared here. Math-verify decides everything else, in worker
processes that can be stopped, so that no answer delays a run. Functions import it when they use it,
because every start of Inspect imports this module.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import nan
from typing import Any

import anyio
import anyio.to_process
from anyio import BrokenWorkerProcess, CapacityLimiter
from anyio.lowlevel import RunVar
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata
from misstep.scorers._intervals import Estimate, metric_from, share
from misstep.stores import SearchResult, search_result

LONGEST = 2_000
"""The most characters of an answer that math-verify reads. Real answers are far shorter."""


class ComparisonOutcome(StrEnum):
    """The outcome of a comparison. A comparison that failed is undecided, not a difference."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class AnswerComparison:
    """Whether two answers are the same, and why."""

    outcome: ComparisonOutcome
    reason: str

    @property
    def same(self) -> bool:
        """Whether the answers are the same. An undecided comparison is not."""
        return self.outcome is ComparisonOutcome.SAME


def compare_plainly(answer: str, target: str) -> AnswerComparison | None:
    """Compare the same text and plain numbers, or return None if that needs math-verify.

    Only what math-verify would decide in the same way is decided here. It calls two numbers equal
    if they are equal to six decimals, so only whole numbers are told apart here.
    """
    if not target.strip():
        return AnswerComparison(ComparisonOutcome.UNDECIDED, "there is no answer to compare with")
    if not answer.strip():
        return AnswerComparison(ComparisonOutcome.DIFFERENT, "the answer is empty")
    if _written(answer) == _written(target):
        return AnswerComparison(ComparisonOutcome.SAME, "the same text")
    given, gold = _number(answer), _number(target)
    if given is not None and given == gold:
        return AnswerComparison(ComparisonOutcome.SAME, "the same number")
    if given is not None and gold is not None and given.denominator == gold.denominator == 1:
        return AnswerComparison(
            ComparisonOutcome.DIFFERENT, f"{answer.strip()} is not {target.strip()}"
        )
    longest = max(len(answer), len(target))
    if longest > LONGEST:
        return AnswerComparison(
            ComparisonOutcome.UNDECIDED,
            f"an answer of {longest:,} characters is not read as mathematics",
        )
    return None


def compare_texts(answer: str, target: str, seconds: int = 5) -> AnswerComparison:
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
            return AnswerComparison(
                ComparisonOutcome.UNDECIDED, f"not readable as mathematics: {unread.strip()}"
            )
        same = verify(gold, given, timeout_seconds=seconds, raise_on_error=True)
    except TimeoutException:
        return too_long(answer, target)
    except Exception as error:  # a model's text can fail anywhere in math-verify
        return AnswerComparison(
            ComparisonOutcome.UNDECIDED, f"not comparable: {type(error).__name__}: {error}"
        )
    if same:
        return AnswerComparison(
            ComparisonOutcome.SAME, f"mathematically equal: {answer.strip()}, {target.strip()}"
        )
    return AnswerComparison(
        ComparisonOutcome.DIFFERENT,
        f"{answer.strip()} is not mathematically equal to {target.strip()}",
    )


def load_reader() -> None:
    """Import math-verify, which takes seconds the first time."""
    import math_verify  # noqa: F401


def too_long(answer: str, target: str) -> AnswerComparison:
    """Return the result of a comparison that was stopped."""
    return AnswerComparison(
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


async def compare_answers(answer: str, target: str, seconds: int = 10) -> AnswerComparison:
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
            return AnswerComparison(
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


COSTS = ("tokens", "calls", "policy_tokens", "reward_tokens")
ORACLE = "oracle"
"""Whether any of several solutions is right: the best that a choice among them can reach."""

_value = value_to_float()


@metric(name="answer_metrics")
def answer_metrics() -> Metric:
    """Accuracy with its interval."""
    return metric_from(_answer_metrics)


@metric(name="search_metrics", scores="unreduced")
def search_metrics() -> Metric:
    """The mean cost of a sample, and the shares without an answer, over all epochs."""
    return metric_from(_search_metrics)


def answer_table(scores: Sequence[SampleScore], epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return every metric of final answers, also by set and of other ways to choose.

    Args:
        scores: One score for each sample: epochs are reduced.
        epochs: The scores of all epochs.
    """
    return {
        **dict(_answer_metrics(scores)),
        **dict(_search_metrics(epochs)),
        **metric_values(_alternatives(epochs)),
        **metric_values(_by_set(scores)),
    }


def _answer_metrics(scores: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    accuracy = _accuracy(scores)
    yield "accuracy", accuracy.value
    yield from accuracy.interval("accuracy")
    yield "stderr", accuracy.stderr
    yield "total_count", len(scores)


def _search_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    metadata = [epoch.score.metadata or {} for epoch in epochs]
    for cost in COSTS:
        spent = [one["budget"][cost] for one in metadata if cost in one.get("budget", {})]
        yield f"mean_{cost}", _mean(spent)
    yield "unanswered", _mean([epoch.score.answer is None for epoch in epochs])
    yield "unfinished", _mean([not one.get("finished", True) for one in metadata])
    yield "undecided", _mean([bool(one.get("undecided")) for one in metadata])


def _alternatives(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    """Yield the accuracy of other ways to choose among the same solutions."""
    hits = [(epoch.score.metadata or {}).get("hits", {}) for epoch in epochs]
    clusters = [_cluster(epoch, number) for number, epoch in enumerate(epochs)]
    for name in dict.fromkeys(name for one in hits for name in one):
        accuracy = share([float(one.get(name, False)) for one in hits], clusters)
        yield f"{name}_accuracy", accuracy.value
        yield from accuracy.interval(f"{name}_accuracy")


def _by_set(scores: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    sets: dict[str, list[SampleScore]] = {}
    for score in scores:
        name = GroupMetadata.model_validate(score.sample_metadata or {}).subset
        if name is not None:
            sets.setdefault(name, []).append(score)
    if len(sets) < 2:
        return
    accuracies = {name: _accuracy(members) for name, members in sorted(sets.items())}
    yield "mean_subset_accuracy", _mean([one.value for one in accuracies.values()])
    for name, accuracy in accuracies.items():
        yield f"{name}_accuracy", accuracy.value
        yield from accuracy.interval(f"{name}_accuracy")
        yield f"{name}_count", len(sets[name])


def _accuracy(scores: Sequence[SampleScore]) -> Estimate:
    return share(
        [_value(score.score.value) for score in scores],
        [_cluster(score, number) for number, score in enumerate(scores)],
    )


def _cluster(scored: SampleScore, number: int) -> str:
    own = GroupMetadata.model_validate(scored.sample_metadata or {}).cluster
    return own or f"sample {number if scored.sample_id is None else scored.sample_id}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


@scorer(metrics=[answer_metrics(), search_metrics()])
def final_answer() -> Scorer:
    """Score the final answer: right if it is mathematically equal to the target.

    A sample without an answer is wrong.
    """

    async def score(state: TaskState, target: Target) -> Score:
        result = search_result(state.store, state.output)
        compared: dict[str, AnswerComparison] = {}

        async def compare(answer: str | None) -> AnswerComparison | None:
            if answer is None:
                return None
            if answer not in compared:
                compared[answer] = await compare_answers(answer, target.text)
            return compared[answer]

        own = await compare(result.answer)
        hits = {name: _same(await compare(answer)) for name, answer in result.alternatives.items()}
        if result.answers:
            right = [_same(await compare(answer)) for answer in result.answers]
            hits[ORACLE] = any(right)
        metadata: dict[str, Any] = {"finished": result.unfinished is None, "budget": result.budget}
        if hits:
            metadata["hits"] = hits
        if own is not None and own.outcome is ComparisonOutcome.UNDECIDED:
            metadata["undecided"] = True
        return Score(
            value=CORRECT if _same(own) else INCORRECT,
            answer=result.answer,
            explanation=_explanation(result, own),
            reason=None if result.answer is not None else "no_response",
            metadata=metadata,
        )

    return score


def _same(comparison: AnswerComparison | None) -> bool:
    return comparison is not None and comparison.same


def _explanation(result: SearchResult, comparison: AnswerComparison | None) -> str:
    if comparison is None:
        text = "No answer: the last step has no \\boxed{}." if result.steps else "No answer."
    else:
        words = {ComparisonOutcome.SAME: "Right", ComparisonOutcome.DIFFERENT: "Wrong"}
        word = words.get(comparison.outcome, "Undecided, which counts as wrong")
        text = f"{word}: {comparison.reason}."
    return text if result.unfinished is None else f"{text} Unfinished: {result.unfinished}."
