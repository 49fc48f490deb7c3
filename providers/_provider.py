"""The base class of the providers in misstep."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, TypeAlias

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprobs,
    ModelAPI,
    ModelCall,
    ModelOutput,
    StopReason,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from misstep._inspect_private import sample_active
from misstep.registry import ModelError, did_you_mean

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
