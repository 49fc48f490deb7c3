"""The provider `embedded/…`: GGUF chat models, run by llama.cpp inside this process."""

import os
import time
from pathlib import Path
from threading import Event
from typing import Any

import anyio.to_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import concurrency

from misstep.providers._chat import model_output, request_body, too_long_output
from misstep.providers._engine import Settings, check_engine, engine_for
from misstep.providers._reply import RefusedError, Reply
from misstep.providers._weights import find_weights
from misstep.registry import ModelError, did_you_mean

_MAX_TOKENS = 512
# Room for the longest worked solutions; what SmolLM2 was trained for.
_CTX = 8192
_LIMITS = {"slots": (1, 64), "ctx": (256, 1_048_576), "threads": (1, 512)}


class EmbeddedAPI(ModelAPI):
    """A chat model in this process: `embedded/smollm2`, or `embedded//path/to/model.gguf`.

    Model arguments (`-M name=value`): `slots`, the requests computed together (1, the default, is
    the repeatable mode); `ctx`, the tokens of context per slot, which llama.cpp rounds up to a
    multiple of 256; `threads`.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature of every provider
        **model_args: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.settings = read_settings(find_weights(model_name), model_args)
        check_engine(self.settings)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Answer a conversation; a trailing assistant message is continued."""
        n = config.num_choices or 1
        max_tokens = config.max_tokens or _MAX_TOKENS
        body = request_body(input, tools, config, max_tokens, self.settings.ctx)
        call = ModelCall.create({**body, "n": n}, None)
        async with concurrency(self.connection_key(), self.settings.slots, visible=False):
            started = time.monotonic()
            try:
                reply = await self._answer(body, n)
            except RefusedError as refused:
                call.set_error(refused.error, time.monotonic() - started)
                if refused.too_long:
                    return too_long_output(self.model_name, n, str(refused)), call
                return ModelError(f"llama.cpp refused the request: {refused}"), call
        call.set_response(_summary(reply), time.monotonic() - started)
        return model_output(self.model_name, reply, config, max_tokens), call

    async def count_tokens(
        self, input: str | list[ChatMessage], config: GenerateConfig | None = None
    ) -> int:
        """The tokens of a prompt, exactly, without computing anything."""
        messages = [ChatMessageUser(content=input)] if isinstance(input, str) else input
        body = request_body(messages, [], GenerateConfig(seed=0), _MAX_TOKENS, self.settings.ctx)
        return await anyio.to_thread.run_sync(
            lambda: engine_for(self.settings).count_tokens(body["messages"])
        )

    def max_tokens(self) -> int:
        """The length of an answer where none is given."""
        return _MAX_TOKENS

    def max_connections(self) -> int:
        """As many requests as are computed together."""
        return self.settings.slots

    def connection_key(self) -> str:
        """Models on one engine share its slots."""
        path, *numbers = self.settings
        return f"embedded/{path}?{','.join(map(str, numbers))}"

    def collapse_user_messages(self) -> bool:
        """Many chat templates want roles that alternate."""
        return True

    def collapse_assistant_messages(self) -> bool:
        """Many chat templates want roles that alternate."""
        return True

    def collapse_system_messages(self) -> bool:
        """Many chat templates know one system message."""
        return True

    async def _answer(self, body: dict[str, Any], n: int) -> Reply:
        stop = Event()
        try:
            # A cancelled call returns at once; the thread ends with the token it is at.
            return await anyio.to_thread.run_sync(
                lambda: engine_for(self.settings).answer(body, n, stop), abandon_on_cancel=True
            )
        finally:
            stop.set()


def read_settings(path: Path, arguments: dict[str, object]) -> Settings:
    """The model arguments, each a whole number within its limits.

    Raises:
        ModelError: An argument is unknown or out of its limits.
    """
    numbers = {"slots": 1, "ctx": _CTX, "threads": _usable_cores()}
    for name, value in arguments.items():
        if name not in _LIMITS:
            raise ModelError(f"Unknown model argument {name!r}.{did_you_mean(name, _LIMITS)}")
        low, high = _LIMITS[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ModelError(
                f"Model argument {name}={value!r}: give a whole number from {low} to {high}."
            )
        numbers[name] = value
    return Settings(path, **numbers)


def _usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not known to macOS and Windows
        return os.cpu_count() or 1


def _summary(reply: Reply) -> dict[str, Any]:
    return {
        "choices": [
            {"finish_reason": choice.finish, "content": choice.text, "tokens": choice.tokens}
            for choice in reply.choices
        ],
        "prompt_tokens": reply.prompt_tokens,
        "cached_tokens": reply.cached_tokens,
    }
