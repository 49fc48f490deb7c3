"""One number for a solution, out of the rewards of its steps."""

from collections.abc import Callable, Sequence
from math import prod
from statistics import fmean
from typing import Literal, TypeAlias

Aggregation: TypeAlias = Literal["last", "min", "product", "mean"]

AGGREGATIONS: dict[Aggregation, Callable[[Sequence[float]], float]] = {
    "last": lambda rewards: rewards[-1],
    "min": min,
    "product": prod,
    "mean": fmean,
}


def aggregate(rewards: Sequence[float | None], aggregation: Aggregation) -> float | None:
    """The reward of a solution; None where that of a step is missing, or there is no step."""
    known = [reward for reward in rewards if reward is not None]
    if not rewards or len(known) < len(rewards):
        return None
    return AGGREGATIONS[aggregation](known)
