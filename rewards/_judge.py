"""Rewards of a chat model that judges steps: how probable it holds a step to be right."""

from collections.abc import Sequence

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
)
from inspect_ai.util import collect

from misstep.providers import set_call_purpose
from misstep.registry import Judge, fill
from misstep.rewards._reward_model import OutputCallback, Reward, RewardModel
from misstep.rewards._step_verdicts import StepVerdict, read_step_verdict
from misstep.verdicts import Unread

TOP_LOGPROBS = {"token": 20, "box": 10}
"""Alternatives asked for: 10 for written verdicts as published, all that APIs give for tokens."""


class JudgeRewards(RewardModel):
    """A judge that is asked about one step at a time.

    Args:
        model: The judge.
        judge: How it is asked.
        on_output: Told of every output.
    """

    def __init__(self, model: Model, judge: Judge, on_output: OutputCallback | None = None) -> None:
        super().__init__(on_output)
        self._model = model
        self._judge = judge

    async def score_steps(self, problem: str, steps: Sequence[str]) -> list[Reward]:
        """The rewards of all steps, asked for at once."""
        ends = range(1, len(steps) + 1)
        return await collect(*(self.score_last_step(problem, steps[:end]) for end in ends))

    async def score_last_step(self, problem: str, steps: Sequence[str]) -> Reward:
        """The reward of the last of some steps."""
        step = len(steps) - 1
        with set_call_purpose(step=step):
            output = await self._model.generate(
                judge_messages(self._judge, problem, steps, step),
                config=GenerateConfig(logprobs=True, top_logprobs=TOP_LOGPROBS[self._judge.reply]),
            )
        self._spent(output)
        if not output.choices:
            return Reward(None, "the judge answered without any choice")
        return _reward(read_step_verdict(output.choices[0], self._judge))


def judge_messages(
    judge: Judge, problem: str, steps: Sequence[str], step: int
) -> list[ChatMessage]:
    """What a judge is asked about a step."""
    messages: list[ChatMessage] = []
    if judge.system:
        messages.append(ChatMessageSystem(content=judge.system))
    begin = 0 if judge.next is not None else step
    for i in range(begin, step + 1):
        template = judge.first if i == begin else (judge.next or "")
        previous = "\n\n".join(steps[:i]) or "(none yet)"
        values = {"{problem}": problem, "{step}": steps[i], "{previous}": previous}
        messages.append(ChatMessageUser(content=fill(template, values)))
        if i < step:
            messages.append(ChatMessageAssistant(content=judge.history or ""))
    return messages


def _reward(verdict: StepVerdict) -> Reward:
    if isinstance(verdict.right, Unread):
        return Reward(None, f"the judge's verdict could not be read ({verdict.right})")
    return Reward(verdict.probability, verdict.missing)
