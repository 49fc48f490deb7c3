"""The provider `embedded/…`: GGUF chat models that llama.cpp runs in this process."""

import os
import time
from collections.abc import Mapping
from threading import Event
from typing import Any

import anyio.to_thread
from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, ModelCall
from inspect_ai.util import concurrency

from misstep.providers._llama import (
    EngineSettings,
    LlamaChoice,
    LlamaReply,
    RefusedError,
    check_engine,
    model_output,
    request_body,
    shared_engine,
)
from misstep.providers._provider import ModelRequest, Provider, Response
from misstep.providers._weights import find_weights
from misstep.registry import ModelError

_MAX_TOKENS = 512
# The context that SmolLM2 was trained with. The longest worked solutions fit into it.
_CTX = 8192
_LIMITS = {"slots": (1, 64), "ctx": (256, 1_048_576), "threads": (1, 512)}


class EmbeddedAPI(Provider):
    """A chat model in this process: `embedded/smollm2`, or `embedded//path/to/model.gguf`.

    Model arguments (`-M name=value`):

    - `slots`: requests that are computed together. Only with 1, the default, can results be
      repeated exactly.
    - `ctx`: tokens of context for each slot. llama.cpp rounds up to a multiple of 256.
    - `threads`: threads of the CPU. Default: one for each core.
    """

    ARGUMENTS = tuple(_LIMITS)

    def configure(self, arguments: Mapping[str, Any]) -> None:
        """Find the weights and read the settings: whole numbers within their limits."""
        for name, value in arguments.items():
            low, high = _LIMITS[name]
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ModelError(
                    f"Model argument {name}={value!r}: give a whole number from {low} to {high}."
                )
        has_affinity = hasattr(os, "sched_getaffinity")  # macOS and Windows do not have it
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        numbers = {"slots": 1, "ctx": _CTX, "threads": cores, **arguments}
        self.settings = EngineSettings(find_weights(self.model_name), **numbers)
        check_engine(self.settings)

    async def respond(self, request: ModelRequest) -> Response:
        """Answer a conversation. A trailing assistant message is continued."""
        config = request.config
        n = config.num_choices or 1
        max_tokens = config.max_tokens or _MAX_TOKENS
        ctx = self.settings.ctx
        body = request_body(request.messages, request.tools, config, max_tokens, ctx)
        call = ModelCall.create({**body, "n": n}, None)
        async with concurrency(self.connection_key(), self.settings.slots, visible=False):
            started = time.monotonic()
            try:
                reply = await self._answer(body, n)
            except RefusedError as refused:
                call.set_error(refused.error, time.monotonic() - started)
                if refused.error.get("type") != "exceed_context_size_error":
                    return ModelError(f"llama.cpp refused the request: {refused}"), call
                # The text stays empty: numbers in the error could be read as a verdict.
                empty = LlamaReply([LlamaChoice(finish_reason="length")] * n, 0, 0)
                output = model_output(self.model_name, empty, config, max_tokens)
                return output.model_copy(update={"error": str(refused)}), call
        record = {
            "choices": [
                {"finish_reason": one.finish_reason, "content": one.text, "tokens": one.tokens}
                for one in reply.choices
            ],
            "prompt_tokens": reply.prompt_tokens,
            "cached_tokens": reply.cached_tokens,
        }
        call.set_response(record, time.monotonic() - started)
        return model_output(self.model_name, reply, config, max_tokens), call

    async def count_tokens(
        self, input: str | list[ChatMessage], config: GenerateConfig | None = None
    ) -> int:
        """Return the exact number of tokens of a prompt."""
        messages = [ChatMessageUser(content=input)] if isinstance(input, str) else input
        body = request_body(messages, [], GenerateConfig(seed=0), _MAX_TOKENS, self.settings.ctx)
        return await anyio.to_thread.run_sync(
            lambda: shared_engine(self.settings).count_tokens(body["messages"])
        )

    def max_tokens(self) -> int:
        """Return the default length of an answer."""
        return _MAX_TOKENS

    def max_connections(self) -> int:
        """Return the number of requests that are computed together."""
        return self.settings.slots

    def connection_key(self) -> str:
        """Return one key for all models on one engine, because they share its slots."""
        path, *numbers = self.settings
        return f"embedded/{path}?{','.join(map(str, numbers))}"

    def collapse_user_messages(self) -> bool:
        """Return True: many chat templates require alternating roles."""
        return True

    def collapse_assistant_messages(self) -> bool:
        """Return True: many chat templates require alternating roles."""
        return True

    def collapse_system_messages(self) -> bool:
        """Return True: many chat templates allow one system message."""
        return True

    async def _answer(self, body: dict[str, Any], n: int) -> LlamaReply:
        stop = Event()
        try:
            # A cancelled call returns at once. The thread stops after its current token.
            return await anyio.to_thread.run_sync(
                lambda: shared_engine(self.settings).answer(body, n, stop), abandon_on_cancel=True
            )
        finally:
            stop.set()
