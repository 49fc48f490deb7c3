"""The requests and outputs of models that score the steps of a solution.

These are Inspect models, so Inspect brings connections, retries, cache, limits and the log. The
input is the problem as the user message, and the steps as the parts of the assistant message. The
output is a list of rewards: as text for people, and as metadata for code.
"""

from collections.abc import Sequence
from math import isfinite

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentText,
    ModelOutput,
    ModelUsage,
)

from misstep.providers._provider import choice
from misstep.registry import ModelError
from misstep.stores import StepRewards


def scoring_messages(problem: str, steps: Sequence[str]) -> list[ChatMessage]:
    """Return the messages that ask a model to score the steps of a solution."""
    return [
        ChatMessageUser(content=problem),
        ChatMessageAssistant(content=[ContentText(text=step) for step in steps]),
    ]


def read_scoring_messages(model: str, messages: Sequence[ChatMessage]) -> tuple[str, list[str]]:
    """Return the problem and the steps of such messages."""
    if len(messages) == 2 and messages[0].role == "user" and isinstance(messages[1].content, list):
        parts = [part for part in messages[1].content if isinstance(part, ContentText)]
        if parts and len(parts) == len(messages[1].content):
            return messages[0].text, [part.text for part in parts]
    raise ModelError(
        f"{model} scores the steps of a solution and does not write text. "
        "Use it with -T critic=reward, or as the role `reward` of a guided search."
    )


def scored_output(
    model: str, rewards: Sequence[float] | None, steps: int, check: str, tokens: int = 0
) -> ModelOutput:
    """Return the output with a reward for each step.

    There are no rewards if their number is not the number of steps: the output then says which
    settings to `check`. A value that is not from 0 to 1 becomes a missing reward.
    """
    if rewards is None or len(rewards) != steps:
        count = "no list of results" if rewards is None else f"{len(rewards)} rewards"
        return unscored_output(model, f"{count} for {steps} steps; check {check}", tokens)
    kept = [reward if isfinite(reward) and 0 <= reward <= 1 else None for reward in rewards]
    output = _output(model, ", ".join("missing" if x is None else f"{x:.4g}" for x in kept), tokens)
    invalid = [f"{rewards[i]} for step {i}" for i, reward in enumerate(kept) if reward is None]
    listed = ", ".join(invalid[:3])
    missing = f"a reward is a number from 0 to 1; the model gave {listed}" if invalid else None
    output.metadata = StepRewards(rewards=kept, missing=missing).model_dump(exclude_none=True)
    return output


def unscored_output(model: str, reason: str, tokens: int = 0) -> ModelOutput:
    """Return the output for a solution that could not be scored."""
    output = _output(model, f"no rewards: {reason}", tokens)
    output.metadata = StepRewards(missing=reason).model_dump(exclude_none=True)
    output.error = reason
    return output


def _output(model: str, text: str, tokens: int) -> ModelOutput:
    usage = ModelUsage(input_tokens=tokens, output_tokens=0, total_tokens=tokens)
    return ModelOutput(model=model, choices=[choice(model, text)], usage=usage)
