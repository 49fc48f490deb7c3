"""The interface to everything that gives rewards."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model, ModelAPI, ModelOutput

from misstep.concurrency import collect
from misstep.registry import ModelError, Prm

OutputCallback = Callable[[ModelOutput], None]
"""A function that gets every output of a reward model, for example to count its tokens."""

THRESHOLD = 0.5
"""A step with a smaller reward is wrong, unless the reward model has its own threshold."""

Aggregation: TypeAlias = Literal["last", "min", "product", "mean"]

AGGREGATIONS: dict[Aggregation, Callable[[Sequence[float]], float]] = {
    "last": lambda rewards: rewards[-1],
    "min": min,
    "product": prod,
    "mean": fmean,
}
"""How to turn the rewards of the steps into the reward of the solution."""


@dataclass(frozen=True)
class Reward:
    """How good a step is, from 0 to 1, or why that is unknown."""

    value: float | None
    missing: str | None = None
    """The reason why there is no value."""


class RewardModel(ABC):
    """A model that gives rewards for the steps of a solution. `on_output` gets all its outputs.

    A reply that cannot be read, or a solution that is too long, has missing rewards. Any other
    failure of a call is raised: it is an error of the sample.
    """

    def __init__(self, model: Model, on_output: OutputCallback | None = None) -> None:
        self._model = model
        self._on_output = on_output or (lambda output: None)
        self.api = model.api
        prm = getattr(model.api, "prm", None)
        self.threshold = prm.threshold if isinstance(prm, Prm) else THRESHOLD

    async def find_problem(self) -> str | None:
        """Return why the model cannot score solutions, or None. Only some models can be probed."""
        return None

    @abstractmethod
    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """Return one reward for each step of a solution."""

    @abstractmethod
    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """Return the reward of the last step."""

    async def score_candidates(
        self, problem: str, previous: Sequence[str], candidates: Sequence[str]
    ) -> list[Reward]:
        """Return the rewards of candidates for the next step. All calls run concurrently."""
        paths = [[*previous, candidate] for candidate in candidates]
        return await collect(*(self.score_last_step(problem, path) for path in paths))

    async def score_solutions(
        self, problem: str, solutions: Sequence[Sequence[str]]
    ) -> list[list[Reward]]:
        """Return the rewards of all steps of several solutions. All calls run concurrently."""
        return await collect(*(self.score_steps(problem, steps) for steps in solutions))


FIRST_SOLUTIONS = 20
"""A run stops if so many solutions at its start get no reward."""


class RewardWatch:
    """Stops a run whose reward model does not work.

    Before the first solution of the run, the model is probed. A judge cannot be probed. If the
    first solutions all get no reward, the rest would get none either.
    """

    def __init__(self) -> None:
        self._failed = 0
        self._works = False
        self._probing = anyio.Lock()
        self._probed: WeakKeyDictionary[ModelAPI, str | None] = WeakKeyDictionary()

    async def probe(self, model: RewardModel) -> None:
        """Probe the reward model, once for all samples of the run.

        Raises:
            ModelError: The model does not give a reward for every step.
        """
        async with self._probing:
            if model.api not in self._probed:
                self._probed[model.api] = await model.find_problem()
        if (problem := self._probed[model.api]) is not None:
            raise ModelError(
                f"The reward model does not score the steps of a short solution: {problem}. "
                "The run stops before its first solution. Try the model: misstep prm check."
            )

    def add(self, rewards: Sequence[float | None], reason: str | None) -> None:
        """Count a solution with its rewards; `reason` says why a reward is missing.

        Raises:
            ModelError: None of the first solutions has a reward.
        """
        if self._works or not rewards:
            return
        if any(reward is not None for reward in rewards):
            self._works = True
            return
        self._failed += 1
        if self._failed >= FIRST_SOLUTIONS:
            raise ModelError(
                f"None of the first {FIRST_SOLUTIONS} solutions got a reward, so the run stops. "
                f"The last reason: {reason or 'unknown'}. Check the reward model, how it is served "
                "and its style."
            )


def aggregate(rewards: Sequence[float | None], aggregation: Aggregation) -> float | None:
    """Return the reward of a solution, or None if a reward is missing or there are no steps."""
    known = [reward for reward in rewards if reward is not None]
    if not rewards or len(known) < len(rewards):
        return None
    return AGGREGATIONS[aggregation](known)
