"""The final-answer scorer and its metrics. All samples stay in the denominator.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Sequence
from math import nan
from typing import Any

from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata, SearchResult, search_result
from misstep.scorers._answer_equality import Comparison, ComparisonOutcome, compare_answers
from misstep.scorers._intervals import share

COSTS = ("tokens", "calls", "seconds", "policy_tokens", "reward_tokens")
ORACLE = "oracle"
"""Whether any of several solutions is right: the best that a choice among them can reach."""

_value = value_to_float()


@metric(name="answer_metrics")
def answer_metrics() -> Metric:
    """Accuracy, also by set and of other ways to choose, and the mean cost of a sample."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics(scores))

    return compute


def _metrics(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    hits = [_value(score.score.value) for score in scores]
    accuracy = share(hits)
    metadata = [score.score.metadata or {} for score in scores]
    # The viewer shows the first few metrics, so the main ones come first.
    yield "accuracy", accuracy.value
    for cost in COSTS:
        spent = [one["budget"][cost] for one in metadata if cost in one.get("budget", {})]
        yield f"mean_{cost}", _mean(spent)
    yield "unanswered", _mean([score.score.answer is None for score in scores])
    yield "unfinished", _mean([not one.get("finished", True) for one in metadata])
    yield "undecided", _mean([bool(one.get("undecided")) for one in metadata])
    yield "total_count", len(scores)
    yield "stderr", accuracy.stderr
    yield from accuracy.interval("accuracy")
    names = dict.fromkeys(name for one in metadata for name in one.get("hits", {}))
    for name in names:
        yield from _accuracy(name, [one.get("hits", {}).get(name, False) for one in metadata])
    yield from _by_set(scores)


def _by_set(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    sets: dict[str, list[float]] = {}
    for score in scores:
        name = GroupMetadata.model_validate(score.sample_metadata or {}).subset
        if name is not None:
            sets.setdefault(name, []).append(_value(score.score.value))
    if len(sets) < 2:
        return
    yield "mean_subset_accuracy", _mean([sum(hits) / len(hits) for hits in sets.values()])
    for name, hits in sorted(sets.items()):
        yield from _accuracy(name, hits)
        yield f"{name}_count", len(hits)


def _accuracy(name: str, hits: Sequence[float]) -> Iterator[tuple[str, float]]:
    accuracy = share(hits)
    yield f"{name}_accuracy", accuracy.value
    yield from accuracy.interval(f"{name}_accuracy")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


@scorer(metrics=[answer_metrics()])
def final_answer() -> Scorer:
    """Score the final answer: right if it is mathematically equal to the target.

    A sample without an answer is wrong.
    """

    async def score(state: TaskState, target: Target) -> Score:
        result = search_result(state.store, state.output)
        compared: dict[str, Comparison] = {}

        async def compare(answer: str | None) -> Comparison | None:
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


def _same(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.same


def _explanation(result: SearchResult, comparison: Comparison | None) -> str:
    if comparison is None:
        text = "No answer: the last step has no \\boxed{}." if result.steps else "No answer."
    else:
        words = {ComparisonOutcome.SAME: "Right", ComparisonOutcome.DIFFERENT: "Wrong"}
        word = words.get(comparison.outcome, "Undecided, which counts as wrong")
        text = f"{word}: {comparison.reason}."
    return text if result.unfinished is None else f"{text} Unfinished: {result.unfinished}."
