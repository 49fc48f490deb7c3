"""Calls of the model under test that leave the sample's state as it is: one reply, or votes."""

from copy import copy
from functools import reduce
from operator import add

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    GenerateConfig,
    GenerateConfigArgs,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
    get_model_info,
)
from inspect_ai.solver import Generate, TaskState

from misstep._inspect_private import active_generate_config
from misstep.providers import (
    Refusal,
    collect,
    output_or_too_long,
    refusal_of,
    remembered_refusals,
    set_call_purpose,
)
from misstep.scorers import read_vote, votes_needed
from misstep.verdicts import READINGS

SEED = 42
"""The seed of the first call. The next calls take 43, 44, and so on."""

REASONING_TOKENS = 32_768
"""The default of `--max-tokens` for a model that reasons before it answers, as in ProcessBench's
script for such models."""


def default_max_tokens(
    usual: int, model: Model, config: GenerateConfig, reasoning: int = REASONING_TOKENS
) -> int:
    """Return the default limit of tokens for a reply: more if the model reasons."""
    info, effort = get_model_info(model), config.reasoning_effort
    asked = config.reasoning_tokens or (effort is not None and effort != "none")
    if effort == "none" or not (asked or (info and info.reasoning)):
        return usual
    return max(usual, min(reasoning, (info and info.output_tokens) or reasoning))


def with_max_tokens(usual: int, reasoning: int = REASONING_TOKENS) -> GenerateConfigArgs:
    """Return the limit of a reply as an option of a call, unless the run or the model has one.

    A task that is made in Python does not know its model, so it has no limit of its own.
    """
    model, config = get_model(), active_generate_config()
    if config.max_tokens is not None or model.config.max_tokens is not None:
        return {}
    return {"max_tokens": default_max_tokens(usual, model, config, reasoning)}


async def ask(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    vote: int = 0,
    step: int | None = None,
    config: GenerateConfigArgs | None = None,
) -> ModelOutput:
    """Call the model with messages and a seed of their own.

    The call uses Inspect's `generate`, so that caching by epoch, limits and options apply. `vote`,
    the place of the first choice among the sample's votes, is added to the seed, so that repeated
    calls do not repeat their answer. `step` is the step that the call is about. `config` has
    further options.
    """
    seed = active_generate_config().seed
    base = SEED if seed is None else seed
    with set_call_purpose(vote, step):
        return await reply_to(state, generate, messages, {"seed": base + vote, **(config or {})})


async def reply_to(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    config: GenerateConfigArgs | None = None,
) -> ModelOutput:
    """Return the reply to messages, with the options of the run and those given."""
    own = copy(state)
    own.messages = list(messages)

    async def call() -> ModelOutput:
        return (await generate(own, tool_calls="none", **(config or {}))).output

    return await output_or_too_long(str(state.model), call())


async def draw_votes(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    votes: int,
    adaptive: bool = False,
    first: int = 0,
    config: GenerateConfigArgs | None = None,
) -> ModelOutput:
    """Return an output whose choices are the votes, in order.

    With `adaptive` votes are drawn in rounds, until no further vote can change the result of either
    reading. `first` is the place of the first vote among all votes of the sample. `config` has
    further options of the calls.
    """
    outputs: list[ModelOutput] = []
    drawn: list[ChatCompletionChoice] = []
    while count := _next_round(drawn, votes, adaptive):
        outputs += await _round(state, generate, messages, first + len(drawn), count, config or {})
        drawn = [choice for output in outputs for choice in output.choices]
        if _is_too_long(outputs[-1]):
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


def _is_too_long(output: ModelOutput) -> bool:
    """Return whether the prompt was refused for its length: another call would be refused too."""
    return output.stop_reason == "model_length"


async def _round(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    first: int,
    count: int,
    config: GenerateConfigArgs,
) -> list[ModelOutput]:
    """Draw votes by one request, if the provider supports several choices.

    Some providers ignore the number of choices, and some refuse it. Then the other votes are drawn
    by parallel calls, each with its own seed: with one fixed seed they would all be the same vote.
    """
    outputs: list[ModelOutput] = []
    # vLLM, for example, refuses several choices at temperature 0 only.
    refused = remembered_refusals(get_model().api)
    request = (Refusal.SEVERAL_CHOICES, count, active_generate_config().temperature)
    if count > 1 and request not in refused:
        outputs = await _several(state, generate, messages, first, {**config, "num_choices": count})
        if not outputs:
            refused.add(request)
        elif _is_too_long(outputs[0]):
            return outputs
    received = sum(len(output.choices) for output in outputs)
    singly = await collect(
        *(ask(state, generate, messages, first + i, config=config) for i in range(received, count))
    )
    if any(not output.choices for output in singly):
        raise ValueError("the model answered without any choice")
    for output in singly:
        output.choices = output.choices[:1]
    return [*outputs, *singly]


async def _several(
    state: TaskState,
    generate: Generate,
    messages: list[ChatMessage],
    first: int,
    config: GenerateConfigArgs,
) -> list[ModelOutput]:
    """Ask for several choices by one request: return its output, or nothing if it is refused."""
    count = config.get("num_choices") or 1
    try:
        output = await ask(state, generate, messages, first, config=config)
    except Exception as error:
        if refusal_of(error) is not Refusal.SEVERAL_CHOICES:
            raise
        transcript().info(f"The provider refused a request for {count} choices: drawn singly.")
        return []
    output.choices = output.choices[:count]
    if len(output.choices) < count and not _is_too_long(output):
        transcript().info(
            f"{len(output.choices)} of {count} choices came back. The others are drawn singly."
        )
    return [output]


def without_echo(text: str, given: str) -> str:
    """Return a continuation without the given text, which llama.cpp repeats first."""
    given = given.strip()
    rest = text.lstrip()[len(given) :] if given and text.lstrip().startswith(given) else ""
    return rest if rest.strip() else text
