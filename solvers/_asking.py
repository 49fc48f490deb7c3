"""Asking the model under test apart from the sample's own conversation."""

from copy import copy
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfigArgs, ModelOutput
from inspect_ai.solver import Generate, TaskState

from misstep._inspect_private import active_generate_config
from misstep.providers import set_call_purpose

SEED = 42
"""Of the first call; the next take 43, 44, and so on."""


async def ask(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    vote: int = 0,
    step: int | None = None,
    num_choices: int | None = None,
    extra_body: dict[str, Any] | None = None,
) -> ModelOutput:
    """One call with its own messages, leaving the state as it is.

    It goes through Inspect's `generate`, so that caching by epoch, limits and options hold.

    Args:
        state: The sample's state.
        generate: Inspect's generate function.
        messages: What to send.
        vote: The place of the first choice among the sample's votes. It is added to the seed, so
            that repeated calls do not repeat their answer.
        step: The step that is asked about.
        num_choices: How many choices to ask for.
        extra_body: What a server of this kind is told beside.
    """
    seed = active_generate_config().seed
    base = SEED if seed is None else seed
    with set_call_purpose(vote, step):
        return await reply_to(
            state,
            generate,
            messages,
            {"seed": base + vote, "num_choices": num_choices, "extra_body": extra_body},
        )


async def reply_to(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    config: GenerateConfigArgs | None = None,
) -> ModelOutput:
    """The reply to some messages, with the options as they are but for those that are given."""
    own = copy(state)
    own.messages = list(messages)
    answered = await generate(own, tool_calls="none", **(config or {}))
    return answered.output
