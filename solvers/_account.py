"""What a sample has cost so far: calls, tokens, time."""

import time
from typing import Any, Literal, TypeAlias, Unpack

from inspect_ai.model import GenerateConfigArgs, ModelOutput
from inspect_ai.solver import Generate, TaskState

Payer: TypeAlias = Literal["policy", "reward"]
PAYERS: tuple[Payer, ...] = ("policy", "reward")


class Account:
    """Calls and tokens of the policy and of the reward model, and the time since it was opened.

    Args:
        budget: Tokens of both together; nothing new is begun when they are spent.
    """

    def __init__(self, budget: int | None = None) -> None:
        self._budget = budget
        self._started = time.monotonic()
        self.calls: dict[Payer, int] = dict.fromkeys(PAYERS, 0)
        self.tokens: dict[Payer, int] = dict.fromkeys(PAYERS, 0)

    def spend(self, payer: Payer, output: ModelOutput) -> None:
        """Count a call."""
        self.calls[payer] += 1
        self.tokens[payer] += output.usage.total_tokens if output.usage else 0

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self._budget is not None and sum(self.tokens.values()) >= self._budget

    def record(self) -> dict[str, Any]:
        """What the log keeps."""
        return {
            "calls": sum(self.calls.values()),
            "tokens": sum(self.tokens.values()),
            "seconds": round(time.monotonic() - self._started, 3),
            **{f"{payer}_calls": self.calls[payer] for payer in PAYERS},
            **{f"{payer}_tokens": self.tokens[payer] for payer in PAYERS},
        }

    def counting(self, generate: Generate) -> Generate:
        """Inspect's generate function, with its calls counted as the policy's."""

        async def counted(
            state: TaskState,
            tool_calls: Literal["loop", "single", "none"] = "loop",
            **kwargs: Unpack[GenerateConfigArgs],
        ) -> TaskState:
            answered = await generate(state, tool_calls, **kwargs)
            self.spend("policy", answered.output)
            return answered

        return counted
