"""The adapters behind the interface: judges, and models that score steps."""

from collections.abc import Sequence

from inspect_ai.log import transcript
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.util import span

from misstep.concurrency import collect
from misstep.providers import (
    check_logprobs,
    output_or_too_long,
    scoring_messages,
    set_call_purpose,
    short_errors,
)
from misstep.registry import Judge, Prm, find_judge
from misstep.rewards._judge import judge_messages, read_step_verdict
from misstep.rewards._probe import probe_prm
from misstep.rewards._reward_model import OutputCallback, Reward, RewardModel
from misstep.stores import StepRewards
from misstep.verdicts import Unread

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
