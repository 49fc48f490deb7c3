"""Models that score the steps of a solution instead of writing: how they are asked and answer.

They are Inspect models like any other, so that connections, retries, caching, limits and the log
are Inspect's. What goes in is the problem as the user's turn and the steps as the parts of the
assistant's; what comes out is a list of rewards, for people as text and for code as metadata.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Protocol, runtime_checkable

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentText,
    ModelOutput,
    ModelUsage,
)

from misstep.registry import MISSING, REWARDS, ModelError


@runtime_checkable
class ScoresSteps(Protocol):
    """A model that can be asked for the rewards of all steps at once."""

    @property
    def scores_steps(self) -> bool:
        """Whether it has scores to give."""
        ...


def scoring_messages(problem: str, steps: Sequence[str]) -> list[ChatMessage]:
    """What a model that scores steps is asked."""
    return [
        ChatMessageUser(content=problem),
        ChatMessageAssistant(content=[ContentText(text=step) for step in steps]),
    ]


def asked_steps(model: str, input: Sequence[ChatMessage]) -> tuple[str, list[str]]:
    """The problem and the steps of a question.

    Raises:
        ModelError: It is not one: the model was asked to write.
    """
    if len(input) == 2 and input[0].role == "user" and isinstance(input[1].content, list):
        parts = [part for part in input[1].content if isinstance(part, ContentText)]
        if parts and len(parts) == len(input[1].content):
            return input[0].text, [part.text for part in parts]
    raise ModelError(
        f"{model} scores the steps of a solution and does not write. "
        "Use it with -T critic=reward, or as the role `reward` of a guided search."
    )


def scored_output(model: str, rewards: Sequence[float], tokens: int = 0) -> ModelOutput:
    """The answer; a value that is no number in [0, 1] is a missing reward, and is said to be.

    Args:
        model: The model's name.
        rewards: One for each step.
        tokens: Of the input, where the server says.
    """
    kept = [reward if isfinite(reward) and 0 <= reward <= 1 else None for reward in rewards]
    output = _output(model, ", ".join("missing" if x is None else f"{x:.4g}" for x in kept), tokens)
    output.metadata = {REWARDS: kept}
    odd = {i: rewards[i] for i, reward in enumerate(kept) if reward is None}
    if odd:
        listed = ", ".join(f"{value} for step {i}" for i, value in list(odd.items())[:3])
        output.metadata[MISSING] = f"a reward is a number from 0 to 1; the model gave {listed}"
    return output


def unscored_output(model: str, why: str, tokens: int = 0) -> ModelOutput:
    """The answer where no step could be scored."""
    output = _output(model, f"no rewards: {why}", tokens)
    output.metadata = {MISSING: why}
    output.error = why
    return output


def _output(model: str, text: str, tokens: int) -> ModelOutput:
    message = ChatMessageAssistant(content=text, model=model, source="generate")
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=message, stop_reason="stop")],
        usage=ModelUsage(input_tokens=tokens, output_tokens=0, total_tokens=tokens),
    )
