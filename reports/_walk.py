"""What a task asks a model, found by walking through it with one that answers nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelName,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Target
from inspect_ai.solver import Generate, TaskState

from misstep._inspect_private import set_active_models
from misstep.registry import CHARACTERS_A_TOKEN

_WORDS = "It follows from what is given, and both sides agree. "
_MODEL = "mockllm/model"


@dataclass(frozen=True)
class Call:
    """One request."""

    messages: list[ChatMessage]
    completions: int
    max_tokens: int | None
    role: str | None = None
    """Of another model than the one under test, where it is one's."""


@dataclass
class Walk:
    """What a task asks a model."""

    samples: int = 0
    calls: list[Call] = field(default_factory=list)
    failed: int = 0
    """Samples whose solver did not come to its end."""
    failure: str | None = None


async def walk(
    task: Task, completion: int, limit: int | None = None, roles: Sequence[str] = ()
) -> Walk:
    """Go through a task's samples with a model that gives the same answer to everything.

    The answer is that there is no error, in the words that every critic reads, so that judges of
    steps are asked about all of them; it is as long as a completion is expected to be.

    Args:
        task: The task.
        completion: How many tokens an answer has.
        limit: Only so many samples.
        roles: The roles of other models that the task asks.
    """
    walked = Walk()
    length = completion * CHARACTERS_A_TOKEN
    filler = (_WORDS * (length // len(_WORDS) + 1))[:length]
    text = rf"+ {filler} [Right] \boxed{{-1}}"

    def answer(
        messages: Sequence[ChatMessage], config: GenerateConfig, role: str | None = None
    ) -> ModelOutput:
        count = config.num_choices or 1
        walked.calls.append(Call(list(messages), count, config.max_tokens, role))
        choices = [
            ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason="stop")
            for _ in range(count)
        ]
        return ModelOutput(model=_MODEL, choices=choices, usage=ModelUsage())

    def model_of(role: str | None) -> Model:
        return get_model(
            _MODEL,
            custom_outputs=lambda input, _, __, config: answer(input, config, role),
            memoize=False,
        )

    model = model_of(None)
    set_active_models(model, task.config, {role: model_of(role) for role in roles})
    generate = _generate(answer, task.config)
    for sample in list(task.dataset)[:limit]:
        walked.samples += 1
        try:
            await task.solver(_state(sample, model), generate)
        except Exception as problem:  # Whatever a solver makes of an answer that says nothing.
            walked.failed += 1
            walked.failure = walked.failure or f"{type(problem).__name__}: {problem}"
    return walked


def _generate(
    answer: Callable[[Sequence[ChatMessage], GenerateConfig], ModelOutput], config: GenerateConfig
) -> Generate:
    """Inspect's generate function, without what a run adds to it."""

    async def generate(state: TaskState, *_: object, **options: Any) -> TaskState:  # noqa: ANN401
        own = {k: v for k, v in options.items() if k in GenerateConfig.model_fields}
        state.output = answer(state.messages, config.merge(GenerateConfig(**own)))
        state.messages.append(state.output.message)
        return state

    return cast(Generate, generate)


def _state(sample: Sample, model: Model) -> TaskState:
    messages: list[ChatMessage] = (
        [ChatMessageUser(content=sample.input)]
        if isinstance(sample.input, str)
        else list(sample.input)
    )
    return TaskState(
        model=ModelName(model),
        sample_id=sample.id if sample.id is not None else "",
        epoch=1,
        input=sample.input,
        messages=messages,
        target=Target(sample.target),
        choices=sample.choices,
        metadata=dict(sample.metadata or {}),
    )
