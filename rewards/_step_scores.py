"""Rewards of a model that scores all steps of a solution in one request."""

from collections.abc import Sequence

from inspect_ai.model import Model

from misstep.providers import scoring_messages, set_call_purpose
from misstep.registry import MISSING, REWARDS, Prm
from misstep.rewards._reward_model import THRESHOLD, OutputCallback, Reward, RewardModel


class StepScores(RewardModel):
    """A discriminative reward model, served or local, or recorded scores.

    Args:
        model: A model that scores steps.
        on_output: Told of every output.
    """

    def __init__(self, model: Model, on_output: OutputCallback | None = None) -> None:
        super().__init__(on_output)
        self._model = model

    @property
    def threshold(self) -> float:
        """The model's own."""
        prm = getattr(self._model.api, "prm", None)
        return prm.threshold if isinstance(prm, Prm) else THRESHOLD

    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """The rewards of all steps, by one request."""
        with set_call_purpose(rewards=True):
            output = await self._model.generate(scoring_messages(problem, steps))
        self._spent(output)
        metadata = output.metadata or {}
        missing = metadata.get(MISSING)
        rewards = metadata.get(REWARDS)
        if rewards is None:
            return [Reward(None, missing or "the model gave no rewards")] * len(steps)
        return [Reward(value, missing if value is None else None) for value in rewards]

    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """The reward of the last of some steps."""
        return (await self.score_steps(problem, steps))[-1]
