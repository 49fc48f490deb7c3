"""The final-answer scorer and its metrics. All samples stay in the denominator.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty. A run registers few metrics. `answer_table` has
all.
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
from misstep.samples import GroupMetadata
from misstep.scorers._answer_equality import Comparison, ComparisonOutcome, compare_answers
from misstep.scorers._intervals import Estimate, share
from misstep.stores import SearchResult, search_result

COSTS = ("tokens", "calls", "policy_tokens", "reward_tokens")
ORACLE = "oracle"
"""Whether any of several solutions is right: the best that a choice among them can reach."""

_value = value_to_float()


@metric(name="answer_metrics")
def answer_metrics() -> Metric:
    """Accuracy with its interval."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_answer_metrics(scores))

    return compute


@metric(name="search_metrics", scores="unreduced")
def search_metrics() -> Metric:
    """The mean cost of a sample, and the shares without an answer, over all epochs."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_search_metrics(scores))

    return compute


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
