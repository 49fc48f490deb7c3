"""The score of an injection: accepted or not, and why not."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from inspect_ai.log import EvalSample
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

from misstep.forge._inject import RESULTS
from misstep.forge._record import Example
from misstep.forge._result import Result
from misstep.scorers import share

_watchers: list[Callable[[Result], None]] = []
_accepted = value_to_float()

IN_SAMPLE = ("problem", "original_steps")
"""What an example has from its sample as it is."""


@contextmanager
def watching(watcher: Callable[[Result], None]) -> Iterator[None]:
    """Have a function told of every result while the `with` lasts."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@metric(name="acceptance")
def acceptance() -> Metric:
    """The share that was accepted, and how many were rejected for which reason."""

    def compute(scores: list[SampleScore]) -> Value:
        hits = [_accepted(score.score.value) for score in scores]
        reasons: Counter[str] = Counter()
        for score in scores:
            rejects = (score.score.metadata or {}).get("rejects") or []
            reasons.update({f"rejected_{one['stage']}_{one['reason']}" for one in rejects})
        rate = share(hits)
        figures = {
            "accepted": rate.value,
            "accepted_count": sum(hits),
            "rejected_count": len(hits) - sum(hits),
            "total_count": len(hits),
            "accepted_lower": rate.lower,
            "accepted_upper": rate.upper,
        }
        return {**figures, **dict(sorted(reasons.items()))}

    return compute


@scorer(metrics=[acceptance()])
def accepted() -> Scorer:
    """Whether an example came of a sample; it stands in the score's metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        result = RESULTS.pop(state.uuid)
        for watcher in _watchers:
            watcher(result)
        names = [reject.name for reject in result.rejects]
        return Score(
            value=CORRECT if result.example else INCORRECT,
            answer="accepted" if result.example else ", ".join(names),
            explanation=_explanation(result),
            metadata=_recorded(result),
        )

    return score


def _recorded(result: Result) -> dict[str, Any]:
    """A result for the log, without what the sample holds already."""
    record = asdict(result)
    if record["example"] is not None:
        for name in IN_SAMPLE:
            del record["example"][name]
    return record


def example_of(sample: EvalSample) -> Example | None:
    """The example that a sample of a log came to, if any."""
    result = (sample.scores or {})["accepted"].metadata or {}
    if result["example"] is None:
        return None
    known = {"problem": sample.input, "original_steps": sample.metadata["steps"]}
    return Example.model_validate({**result["example"], **known})


def _explanation(result: Result) -> str:
    if result.example is None:
        return "\n".join(f"- {one.name}: {one.detail}" for one in result.rejects)
    example: dict[str, Any] = result.example
    if example["error_type"] is None:
        return "Left untouched."
    return (
        f"Step {example['label']}, {example['error_type']}, after {result.attempts} attempts: "
        f"{example['what_changed']}"
    )
