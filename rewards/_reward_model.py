"""The one interface to all that gives rewards."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspect_ai.model import ModelOutput
from inspect_ai.util import collect

from misstep.rewards._failures import failure_of

OutputCallback = Callable[[ModelOutput], None]
"""Told of every output, so that its cost can be counted."""


THRESHOLD = 0.5
"""A step with a smaller reward is wrong, where nothing else is known of a model."""


@dataclass(frozen=True)
class Reward:
    """How good a step is, from 0 to 1, or why that is not known."""

    value: float | None
    missing: str | None = None


class RewardModel(ABC):
    """Rewards for the steps of a solution."""

    def __init__(self, on_output: OutputCallback | None = None) -> None:
        self._spent = on_output or (lambda output: None)

    @property
    def threshold(self) -> float:
        """A step with a smaller reward is wrong."""
        return THRESHOLD

    @abstractmethod
    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """The rewards of all steps of a solution, as many as there are steps."""

    @abstractmethod
    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """The reward of the last of some steps."""

    async def score_candidates(
        self, problem: str, previous: Sequence[str], candidates: Sequence[str]
    ) -> list[Reward]:
        """The rewards of candidates for the next step, all asked for at once.

        A candidate whose reward could not be had, for whatever reason, has a missing one.
        """

        async def of(candidate: str) -> Reward:
            try:
                return await self.score_last_step(problem, [*previous, candidate])
            except Exception as error:
                return Reward(None, failure_of(error))

        return await collect(*(of(candidate) for candidate in candidates))

    async def score_solutions(
        self, problem: str, solutions: Sequence[Sequence[str]]
    ) -> list[list[Reward]]:
        """The rewards of all steps of several solutions, all asked for at once.

        Of a solution whose rewards could not be had, all are missing.
        """

        async def of(steps: Sequence[str]) -> list[Reward]:
            try:
                return await self.score_steps(problem, steps)
            except Exception as error:
                return [Reward(None, failure_of(error))] * len(steps)

        return await collect(*(of(steps) for steps in solutions))
