"""The base class of the providers in misstep, and the calls of those that score steps.

Models that score the steps of a solution are Inspect models, so Inspect brings connections,
retries, cache, limits and the log. The input is the problem as the user message, and the steps as
the parts of the assistant message. The output is a list of rewards: as text for people, and as
metadata for code.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, NoReturn, TypeAlias

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprobs,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep._inspect_private import sample_active
from misstep.registry import ModelError, did_you_mean
from misstep.stores import StepRewards

Response: TypeAlias = ModelOutput | tuple[ModelOutput | Exception, ModelCall]
"""What a provider returns to Inspect: an output, or an output or error with the call's record."""


_PURPOSE: ContextVar[dict[str, Any] | None] = ContextVar("call_purpose", default=None)


@contextmanager
def set_call_purpose(
    vote: int = 0, step: int | None = None, rewards: bool = False
) -> Iterator[None]:
    """Set the purpose of the model calls inside the `with` block, as `ModelRequest` has it.

    A prompt does not say that it is the third vote on a sample. `replay/…` must know it to find
    the recorded output. Other providers ignore it.
    """
    token = _PURPOSE.set({"vote": vote, "step": step, "rewards": rewards})
    try:
        yield
    finally:
        _PURPOSE.reset(token)


@dataclass(frozen=True)
class ModelRequest:
    """One model call, as a provider gets it."""

    messages: list[ChatMessage]
    tools: list[ToolInfo]
    config: GenerateConfig
    sample_id: str | None
    """The id of the sample that is running. None outside of an eval."""
    epoch: int
    vote: int = 0
    """Index of the first choice among the votes of the sample."""
    step: int | None = None
    """The step that the call judges, if there is one call for each step."""
    rewards: bool = False
    """Whether the call asks for the rewards of all steps."""


class Provider(ModelAPI):
    """Base class of providers: `configure` reads the model arguments, `respond` answers a call."""

    ARGUMENTS: ClassVar[Collection[str]] = ()
    """The names of the model arguments (`-M name=value`) that the provider accepts."""

    scores_steps = False
    """Whether the model can score all steps of a solution in one call."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
        **model_args: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        for name in model_args:
            if name not in self.ARGUMENTS:
                raise ModelError(
                    f"Unknown model argument {name!r}.{did_you_mean(name, self.ARGUMENTS)}"
                )
        self.configure(model_args)

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Read the model arguments, and raise a ModelError if the model cannot be used."""

    @abstractmethod
    async def respond(self, request: ModelRequest) -> Response:
        """Answer one call."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> Response:
        """Answer one call of Inspect."""
        active, purpose = sample_active(), _PURPOSE.get() or {}
        sample_id, epoch = (str(active.sample.id), active.epoch) if active else (None, 1)
        return await self.respond(ModelRequest(input, tools, config, sample_id, epoch, **purpose))


class ImportedAPI(Provider):
    """The model of a run made elsewhere. Only its results are known, so it cannot be called."""

    async def respond(self, request: ModelRequest) -> NoReturn:
        """Refuse the call."""
        raise ModelError(
            f"imported/{self.model_name} cannot be called: only its results are known. "
            "Use another model."
        )


def choice(
    model: str,
    text: str,
    reasoning: str | None = None,
    stop_reason: StopReason = "stop",
    logprobs: Logprobs | None = None,
) -> ChatCompletionChoice:
    """Return one choice of a model's output."""
    content: str | list[Content] = text
    if reasoning is not None:
        content = [ContentReasoning(reasoning=reasoning), ContentText(text=text)]
    return ChatCompletionChoice(
        message=ChatMessageAssistant(content=content, model=model, source="generate"),
        stop_reason=stop_reason,
        logprobs=logprobs,
    )


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
