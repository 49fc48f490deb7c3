"""The interface to everything that gives rewards, and its two kinds: judges and step scorers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.log import transcript
from inspect_ai.model import GenerateConfig, Model, ModelAPI, ModelOutput, get_model
from inspect_ai.util import span

from misstep.providers import (
    check_logprobs,
    collect,
    output_or_too_long,
    scoring_messages,
    set_call_purpose,
    short_errors,
)
from misstep.registry import Judge, ModelError, Prm, find_judge
from misstep.rewards._judge import judge_messages, read_step_verdict
from misstep.rewards._prm import probe_prm
from misstep.stores import StepRewards
from misstep.verdicts import Unread

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


REWARD_ROLE = "reward"
"""The role of the reward model: `--model-role reward=<model>`."""

_TOP_LOGPROBS = {"token": 20, "box": 10}
"""How many alternatives to request: 10 for written verdicts (as published), else 20 (the most)."""


def find_reward_model(
    style: str, required: bool = False, on_output: OutputCallback | None = None
) -> RewardModel:
    """Return the reward model of the running eval: its role `reward`, or the model under test.

    A model that scores steps (`prm/…`, `local_prm/…`, `replay/…` with recorded scores) gets one
    call for all steps. Any other model is a judge: it gets one call for each step, asked in a style
    of `registry/judges.yaml`, and its provider must give logprobs.
    """
    judge = find_judge(style)
    settings = GenerateConfig(temperature=judge.temperature, max_tokens=judge.max_tokens)
    # Settings that a user gives with the role, `reward={model: x, temperature: 0}`, override these.
    model = get_model(role=REWARD_ROLE, required=required, config=settings)
    if getattr(model.api, "scores_steps", False):
        return StepScoreRewards(model, on_output)
    check_logprobs(
        model,
        "A judge that gives rewards",
        "Use critic=stepwise, which needs none; another model as the role `reward`, for example "
        "vllm/… or openai/gpt-4o; or a process reward model, prm/….",
    )
    return JudgeRewards(model, judge, on_output)


class JudgeRewards(RewardModel):
    """Rewards from a chat model: the probability that it calls a step right."""

    def __init__(self, model: Model, judge: Judge, on_output: OutputCallback | None = None) -> None:
        super().__init__(model, on_output)
        self._judge = judge

    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """Return one reward for each step. All calls run concurrently."""
        ends = range(1, len(steps) + 1)
        return await collect(*(self.score_last_step(problem, steps[:end]) for end in ends))

    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """Return the reward of the last step."""
        step = len(steps) - 1
        with set_call_purpose(step=step):
            config = GenerateConfig(logprobs=True, top_logprobs=_TOP_LOGPROBS[self._judge.reply])
            messages = judge_messages(self._judge, problem, steps, step)
            call = self._model.generate(messages, config=config)
            output = await output_or_too_long(self._model.name, call)
        self._on_output(output)
        if not output.choices:
            return Reward(None, "the judge answered without any choice")
        verdict = read_step_verdict(output.choices[0], self._judge)
        # In one token, the probability of "+" tells more than the token that was drawn.
        if isinstance(verdict.right, Unread) and verdict.probability is None:
            return Reward(None, f"the judge's verdict could not be read ({verdict.right})")
        return Reward(verdict.probability, verdict.missing)


class StepScoreRewards(RewardModel):
    """Rewards from a model that scores all steps of a solution in one call.

    That is a process reward model, served or local, or a file of recorded scores.
    """

    async def find_problem(self) -> str | None:
        """Probe a process reward model; recorded scores are only of their own solutions."""
        prm = getattr(self.api, "prm", None)
        if not isinstance(prm, Prm):
            return None
        async with span("probe of the reward model"):
            result = await probe_prm(self._model, prm)
            if result.passes:
                transcript().info(f"Right steps score {result.gap:+.3f} more than wrong ones.")
        return result.missing

    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """Return one reward for each step, from one call."""
        with set_call_purpose(rewards=True), short_errors():
            output = await self._model.generate(scoring_messages(problem, steps))
        self._on_output(output)
        scored = StepRewards.model_validate(output.metadata or {})
        if scored.rewards is None:
            return [Reward(None, scored.missing or "the model gave no rewards")] * len(steps)
        return [
            Reward(value, scored.missing if value is None else None) for value in scored.rewards
        ]

    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """Return the reward of the last step."""
        return (await self.score_steps(problem, steps))[-1]
