"""The metrics of final answers: accuracy with its interval beside what it cost.

Inspect calls metrics while a run goes on, with few samples or none: every figure here is defined
for any input, and is nan where its set is empty.
"""

from collections.abc import Iterator, Sequence
from math import nan, sqrt
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

from misstep.scorers._intervals import share
from misstep.scorers._metrics import interval

_hit = value_to_float()
COSTS = ("tokens", "calls", "seconds", "policy_tokens", "reward_tokens")


@metric(name="answer_metrics")
def answer_metrics() -> Metric:
    """Accuracy, by set too, of other ways to choose, and the mean cost of a sample."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_figures(scores))

    return compute


def _figures(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    hits = [_hit(score.score.value) for score in scores]
    accuracy = share(hits)
    metadata = [score.score.metadata or {} for score in scores]
    # First what people look at: the viewer shows a few.
    yield "accuracy", accuracy.value
    for cost in COSTS:
        spent = [one["budget"][cost] for one in metadata if cost in one.get("budget", {})]
        yield f"mean_{cost}", _mean(spent)
    yield "unanswered", _mean([score.score.answer is None for score in scores])
    yield "unfinished", _mean([not one.get("finished", True) for one in metadata])
    yield "undecided", _mean([bool(one.get("undecided")) for one in metadata])
    yield "total_count", len(scores)
    yield "stderr", _stderr(hits)
    yield from interval("accuracy", accuracy)
    names = dict.fromkeys(name for one in metadata for name in one.get("hits", {}))
    for name in names:
        chosen = share([float(one.get("hits", {}).get(name, False)) for one in metadata])
        yield f"{name}_accuracy", chosen.value
        yield from interval(f"{name}_accuracy", chosen)
    yield from _by_set(scores)


def _by_set(scores: list[SampleScore]) -> Iterator[tuple[str, float]]:
    sets: dict[str, list[float]] = {}
    for score in scores:
        name: Any = (score.sample_metadata or {}).get("subset")
        if name is not None:
            sets.setdefault(str(name), []).append(_hit(score.score.value))
    if len(sets) < 2:
        return
    yield "mean_subset_accuracy", _mean([sum(hits) / len(hits) for hits in sets.values()])
    for name, hits in sorted(sets.items()):
        accuracy = share(hits)
        yield f"{name}_accuracy", accuracy.value
        yield from interval(f"{name}_accuracy", accuracy)
        yield f"{name}_count", len(hits)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def _stderr(hits: Sequence[float]) -> float:
    """Of the mean, as Inspect's own metric of this name."""
    n = len(hits)
    if n < 2:
        return nan
    mean = sum(hits) / n
    return sqrt(sum((hit - mean) ** 2 for hit in hits) / (n - 1) / n)
