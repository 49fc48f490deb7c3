"""A dry run of a task: its calls are recorded, and a stand-in model answers them."""

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
from misstep.registry import CHARACTERS_PER_TOKEN

_FILLER = "It follows from what is given, and both sides agree. "
_MARK = "[Right]"
"""It is in every completion, so that the completions in a prompt can be counted."""
_VERDICT = rf"+ {_MARK} \boxed{{-1}}"
_MODEL = "mockllm/model"


@dataclass(frozen=True)
class ModelCall:
    """One request to a model. The model under test has no role."""

    messages: list[ChatMessage]
    completions: int
    max_tokens: int | None
    tokens: int
    """The assumed tokens of each completion."""
    role: str | None = None


@dataclass
class DryRun:
    """The calls of a task, and how many samples failed."""

    samples: int = 0
    calls: list[ModelCall] = field(default_factory=list)
    failed: int = 0
    failure: str | None = None

    @property
    def completions(self) -> int:
        """The completions of all calls."""
        return sum(call.completions for call in self.calls)


async def dry_run(
    task: Task, lengths: Sequence[int], limit: int | None = None, roles: Sequence[str] = ()
) -> DryRun:
    """Run the solver of a task with a model that gives the same answer to everything.

    The answer says that there is no error, in a form that every critic can read, so that step
    judges are asked about all steps. `lengths` are the tokens of the completions of a conversation,
    in turn; the last one stands for all later ones. `roles` are the roles of other models that the
    task calls.
    """
    walked = DryRun()

    def answer(
        messages: Sequence[ChatMessage], config: GenerateConfig, role: str | None = None
    ) -> ModelOutput:
        count = config.num_choices or 1
        earlier = sum(message.text.count(_MARK) for message in messages)
        tokens = lengths[min(earlier, len(lengths) - 1)]
        tokens = min(tokens, config.max_tokens or tokens)
        walked.calls.append(ModelCall(list(messages), count, config.max_tokens, tokens, role))
        length = max(0, tokens * CHARACTERS_PER_TOKEN - len(_VERDICT))
        filler = (_FILLER * (length // len(_FILLER) + 1))[:length]
        text = _VERDICT.replace(" ", f" {filler}", 1)
        choices = [
            ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason="stop")
            for _ in range(count)
        ]
        return ModelOutput(model=_MODEL, choices=choices, usage=ModelUsage())

    def stand_in(role: str | None) -> Model:
        return get_model(
            _MODEL,
            custom_outputs=lambda input, _, __, config: answer(input, config, role),
            memoize=False,
        )

    model = stand_in(None)
    set_active_models(model, task.config, {role: stand_in(role) for role in roles})
    generate = _generate(answer, task.config)
    for sample in list(task.dataset)[:limit]:
        walked.samples += 1
        try:
            await task.solver(_task_state(sample, model), generate)
        except Exception as problem:  # A solver may fail in any way on a meaningless answer.
            walked.failed += 1
            walked.failure = walked.failure or f"{type(problem).__name__}: {problem}"
    return walked


def _generate(
    answer: Callable[[Sequence[ChatMessage], GenerateConfig], ModelOutput], config: GenerateConfig
) -> Generate:
    """A generate function like Inspect's, without the parts that need a run."""

    async def generate(state: TaskState, *_: object, **options: Any) -> TaskState:  # noqa: ANN401
        own = {k: v for k, v in options.items() if k in GenerateConfig.model_fields}
        state.output = answer(state.messages, config.merge(GenerateConfig(**own)))
        state.messages.append(state.output.message)
        return state

    return cast(Generate, generate)


def _task_state(sample: Sample, model: Model) -> TaskState:
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
