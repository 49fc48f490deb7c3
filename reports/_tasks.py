"""Registered tasks before they run: their samples, their sizes, and a dry run.

A dry run records the calls of a task, and a stand-in model answers them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Logprob,
    Logprobs,
    Model,
    ModelName,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)
from inspect_ai.scorer import Target
from inspect_ai.solver import Generate, TaskState
from inspect_ai.util import registry_create

from misstep._inspect_private import set_active_models
from misstep.registry import (
    CHARACTERS_PER_TOKEN,
    MisstepError,
    Replies,
    Size,
    UnknownEvalError,
    eval_names,
    evals,
    sizes,
)

T = TypeVar("T")

_FILLER = "It follows from what is given, and both sides agree. "
_MARK = "[Right]"
"""A mark in each reply of a conversation. It counts the replies that a prompt holds."""
_BLANK_LINE = "\n\n"
"""It separates the steps of a solution. A search that asks for one step stops there."""
_SEARCHED = 20
"""The number of samples of a search in a dry run. All samples would be too many calls."""
_PROBABILITIES = Logprobs(
    content=[
        Logprob(token=right, logprob=-0.1, top_logprobs=[TopLogprob(token=wrong, logprob=-2.4)])
        for right, wrong in (("+", "-"), ("Right", "Wrong"))
    ]
)
"""The probabilities that judges of steps read."""
_MODEL = "mockllm/model"


def run_coroutine(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine. If the caller has an event loop, as notebooks do, run it in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def eval_sizes() -> Iterator[tuple[str, str, Size | None]]:
    """Yield each eval and variant: its name, its description, its size at default settings.

    A user's own variant may have no size.
    """
    known = sizes()
    for name, entry in evals().items():
        yield name, entry.description, known.get(name)
        for variant, facts in entry.variants.items():
            full = f"{name}.{variant}"
            yield full, facts.description, known.get(full)


def load_task(name: str, arguments: dict[str, Any]) -> Task:
    """Return a task by its name, with or without `misstep/`.

    The task is made in an empty context, because an eval set of Inspect leaves its model behind.
    """
    import misstep.registry.entry_point  # noqa: F401 (it registers all tasks)

    plain = name.removeprefix("misstep/")
    known = eval_names()
    if plain not in known:
        raise UnknownEvalError(name, known)

    def made() -> Task:
        return registry_create("task", f"misstep/{plain}", **arguments)

    try:
        return Context().run(made)
    except TypeError as problem:
        raise MisstepError(f"{name}: {problem}.") from None


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
    """The samples that were run dry."""
    total: int = 0
    """The samples of the run. Only a search can have more of them."""
    calls: list[ModelCall] = field(default_factory=list)
    failed: int = 0
    failure: str | None = None

    @property
    def completions(self) -> int:
        """The completions of all calls."""
        return sum(call.completions for call in self.calls)


async def dry_run(
    task: Task,
    replies: Replies,
    limit: int | None = None,
    roles: Sequence[str] = (),
    model_name: str = _MODEL,
) -> DryRun:
    """Run the solver of a task with a model that gives the assumed replies.

    `roles` are the roles of other models that the task calls. `model_name` is the model that the
    solver plans for, such as how its provider continues a text. A name without a provider has no
    such plan.
    """
    walked = DryRun()
    planned_for = ModelName(model_name if "/" in model_name else _MODEL)

    def answer(
        messages: Sequence[ChatMessage], config: GenerateConfig, role: str | None = None
    ) -> ModelOutput:
        count = config.num_choices or 1
        earlier = sum(message.text.count(_MARK) for message in messages)
        if replies.steps and not role:
            tokens, texts = _steps(replies, earlier, _BLANK_LINE in (config.stop_seqs or ()), count)
        else:
            tokens = replies.tokens[min(earlier, len(replies.tokens) - 1)]
            tokens = min(replies.judgement or tokens, config.max_tokens or tokens)
            texts = [_written(replies.text, tokens)] * count
        walked.calls.append(ModelCall(list(messages), count, config.max_tokens, tokens, role))
        choices = [
            ChatCompletionChoice(
                message=ChatMessageAssistant(content=text),
                stop_reason="stop",
                logprobs=_PROBABILITIES if config.logprobs else None,
            )
            for text in texts
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
    samples = list(task.dataset)[:limit]
    walked.total = len(samples)
    for sample in samples[:_SEARCHED] if replies.steps else samples:
        walked.samples += 1
        try:
            await task.solver(_task_state(sample, planned_for), generate)
        except Exception as problem:  # A solver may fail in any way on a meaningless answer.
            walked.failed += 1
            walked.failure = walked.failure or f"{type(problem).__name__}: {problem}"
    return walked


def _written(template: str, tokens: int) -> str:
    """Return a reply of about this many tokens."""
    length = max(0, tokens * CHARACTERS_PER_TOKEN - len(template.replace("{reasoning}", "")))
    filler = (_FILLER * (length // len(_FILLER) + 1))[:length]
    return template.replace("{reasoning}", filler)


def _steps(replies: Replies, earlier: int, single: bool, count: int) -> tuple[int, list[str]]:
    """Return the tokens and the texts of solutions, or of their next step. No two are equal."""
    steps, [each, *_] = replies.steps or 1, replies.tokens
    start, stop = (min(earlier, steps - 1),) * 2 if single else (0, steps - 1)
    texts = []
    for number in range(count):
        last = rf" \boxed{{{number}}}"
        written = [
            _written(f"{number}. {{reasoning}}{_MARK}{last if step == steps - 1 else ''}", each)
            for step in range(start, stop + 1)
        ]
        texts.append(_BLANK_LINE.join(written))
    return each * (stop - start + 1), texts


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


def _task_state(sample: Sample, model: ModelName) -> TaskState:
    messages: list[ChatMessage] = (
        [ChatMessageUser(content=sample.input)]
        if isinstance(sample.input, str)
        else list(sample.input)
    )
    return TaskState(
        model=model,
        sample_id=sample.id if sample.id is not None else "",
        epoch=1,
        input=sample.input,
        messages=messages,
        target=Target(sample.target),
        choices=sample.choices,
        metadata=dict(sample.metadata or {}),
    )
