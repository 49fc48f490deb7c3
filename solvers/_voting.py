"""Drawing votes: several choices for one prompt."""

from functools import reduce
from operator import add
from typing import Any

from inspect_ai.log import transcript
from inspect_ai.model import ChatCompletionChoice, ChatMessage, ModelOutput, ModelUsage
from inspect_ai.solver import Generate, TaskState
from inspect_ai.util import collect

from misstep.scorers import read_vote, votes_needed
from misstep.solvers._asking import ask
from misstep.verdicts import READINGS


async def draw_votes(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    votes: int,
    adaptive: bool = False,
    first: int = 0,
    extra_body: dict[str, Any] | None = None,
) -> ModelOutput:
    """An output whose choices are the votes, in order.

    Args:
        state: The sample's state, left as it is.
        generate: Inspect's generate function.
        messages: The prompt.
        votes: How many.
        adaptive: Draw in rounds, and stop when no further vote can change the outcome of either
            reading.
        first: The place of the first vote among all that are drawn for the sample.
        extra_body: What a server of this kind is told beside.

    Raises:
        ValueError: A call came back without any choice.
    """
    outputs: list[ModelOutput] = []
    drawn: list[ChatCompletionChoice] = []
    while count := _next_round(drawn, votes, adaptive):
        outputs += await _round(state, generate, messages, first + len(drawn), count, extra_body)
        drawn = [choice for output in outputs for choice in output.choices]
        if _too_long(outputs[-1]):
            drawn += drawn[-1:] * (votes - len(drawn))
    usages = [output.usage for output in outputs if output.usage]
    return ModelOutput(
        model=outputs[0].model, choices=drawn, usage=reduce(add, usages, ModelUsage())
    )


def _next_round(drawn: list[ChatCompletionChoice], votes: int, adaptive: bool) -> int:
    remaining = votes - len(drawn)
    if not adaptive:
        return remaining
    return max(
        votes_needed([read_vote(choice, reading) for choice in drawn], remaining)
        for reading in READINGS
    )


def _too_long(output: ModelOutput) -> bool:
    """Whether the prompt was refused for its length, as it would be the next time."""
    return output.stop_reason == "model_length"


async def _round(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    first: int,
    count: int,
    extra_body: dict[str, Any] | None = None,
) -> list[ModelOutput]:
    """Draw some votes: by one request where the provider honours the number of choices.

    Some providers ignore it. Then the rest is asked for by parallel calls with seeds of their own,
    since one fixed seed would return the same vote again and again.
    """
    several = None if count == 1 else count
    output = await ask(state, generate, messages, first, num_choices=several, extra_body=extra_body)
    output.choices = output.choices[:count]
    came = len(output.choices)
    outputs = [output]
    if came < count and not _too_long(output):
        transcript().info(f"{came} of {count} choices came back: asking for the rest one by one.")
        rest = [
            ask(state, generate, messages, first + i, extra_body=extra_body)
            for i in range(came, count)
        ]
        outputs += await collect(*rest)
    if any(not output.choices for output in outputs[1:]):
        raise ValueError("the model answered without any choice")
    for output in outputs[1:]:
        output.choices = output.choices[:1]
    return outputs
