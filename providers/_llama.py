"""llama.cpp inside this process: its engines, the requests to them, and their replies.

Inspect's messages and settings are translated into llama.cpp's requests, and its replies back.
There is one engine for each combination of weights and settings.
"""

import atexit
import importlib
import importlib.util
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock
from typing import Any, NamedTuple

import httpx
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Logprobs,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.tool import ToolInfo

from misstep.providers._provider import choice
from misstep.providers._weights import check_memory
from misstep.registry import ModelError, did_you_mean

# The sampling that Inspect's settings describe. llama.cpp's own defaults would cut the distribution
# (top_k 40, top_p 0.95, min_p 0.05).
_PLAIN_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
_SAME_NAME = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_SEEDS = 2**31


@dataclass
class LlamaChoice:
    """One sampled answer."""

    text: str = ""
    reasoning: str = ""
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class LlamaReply:
    """The answers to one request, in the order of their seeds."""

    choices: list[LlamaChoice]
    prompt_tokens: int
    cached_tokens: int


class RefusedError(Exception):
    """llama.cpp did not answer a request."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", error)))
        self.error = error


def request_body(
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolInfo],
    config: GenerateConfig,
    max_tokens: int,
    ctx: int,
) -> dict[str, Any]:
    """Return the request for one choice, in the format of llama.cpp's chat completions."""
    if tools:
        raise ModelError(
            f"Embedded models do not call tools, and the task has {len(tools)} "
            f"({', '.join(tool.name for tool in tools)}). Use a task without tools."
        )
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": _text(message)} for message in messages],
        "max_tokens": max_tokens,
        # The log has the seed, so a run without a seed can be repeated too.
        "seed": secrets.randbelow(_SEEDS) if config.seed is None else config.seed % _SEEDS,
        **_PLAIN_SAMPLING,
        **{name: value for name in _SAME_NAME if (value := getattr(config, name)) is not None},
    }
    if config.frequency_penalty or config.presence_penalty:
        body["repeat_last_n"] = ctx  # by default llama.cpp looks back 64 tokens only
    if config.stop_seqs:
        body["stop"] = config.stop_seqs
    if config.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in config.logit_bias.items()}
    if config.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = config.top_logprobs or 1  # with 0 llama.cpp gives no logprobs
    return body | _constraint(config)


def join_chunks(chunks: list[dict[str, Any]]) -> LlamaReply:
    """Join the streamed chunks of one request, or raise RefusedError if an answer is missing."""
    choices: dict[int, LlamaChoice] = {}
    timings: dict[str, Any] = {}
    for chunk in chunks:
        if "error" in chunk:
            raise RefusedError(chunk["error"])
        for part in chunk["choices"]:
            answer = choices.setdefault(part["index"], LlamaChoice())
            answer.text += part["delta"].get("content") or ""
            answer.reasoning += part["delta"].get("reasoning_content") or ""
            answer.logprobs += (part.get("logprobs") or {}).get("content") or []
            answer.finish_reason = part["finish_reason"] or ""
            if answer.finish_reason:
                timings = chunk["timings"]
                answer.tokens = timings["predicted_n"]
    if not choices or not all(answer.finish_reason for answer in choices.values()):
        raise RefusedError({"message": "the answer ended early"})
    return LlamaReply(
        choices=[choices[index] for index in sorted(choices)],
        prompt_tokens=timings["prompt_n"],
        cached_tokens=timings["cache_n"],
    )


def model_output(
    model: str, reply: LlamaReply, config: GenerateConfig, max_tokens: int
) -> ModelOutput:
    """Return Inspect's output for a reply. The usage covers all choices."""
    output_tokens = sum(answer.tokens for answer in reply.choices)
    return ModelOutput(
        model=model,
        choices=[
            choice(
                model,
                answer.text,
                answer.reasoning or None,
                _stop_reason(answer, max_tokens),
                _logprobs(answer, config.top_logprobs or 0) if answer.logprobs else None,
            )
            for answer in reply.choices
        ],
        usage=ModelUsage(
            input_tokens=reply.prompt_tokens,
            input_tokens_cache_read=reply.cached_tokens or None,
            output_tokens=output_tokens,
            total_tokens=reply.prompt_tokens + reply.cached_tokens + output_tokens,
        ),
    )


def _text(message: ChatMessage) -> str:
    if message.role == "tool":
        raise ModelError("Embedded models do not call tools, and a message holds a tool's answer.")
    for part in message.content if isinstance(message.content, list) else []:
        if part.type not in ("text", "reasoning"):
            raise ModelError(f"Embedded models read text only, and a message holds {part.type!r}.")
    return message.text


def _constraint(config: GenerateConfig) -> dict[str, Any]:
    """Return the part of a request that constrains the answer: a JSON schema or a grammar."""
    extra = config.extra_body or {}
    for name in extra.keys() - {"grammar"}:
        raise ModelError(f"Unknown key {name!r} in extra_body.{did_you_mean(name, ['grammar'])}")
    if config.response_schema is None:
        return dict(extra)
    if extra:
        raise ModelError(
            "A response_schema and a grammar exclude each other: llama.cpp would use the schema "
            "only. Give one of them."
        )
    schema = config.response_schema
    described = {"name": schema.name, "schema": schema.json_schema.model_dump(exclude_none=True)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _stop_reason(answer: LlamaChoice, max_tokens: int) -> StopReason:
    if answer.finish_reason != "length":
        return "stop"
    # llama.cpp says "length" for max_tokens and for the end of the context.
    return "max_tokens" if answer.tokens >= max_tokens else "model_length"


def _logprobs(answer: LlamaChoice, top: int) -> Logprobs:
    entries = [
        {**entry, "top_logprobs": entry["top_logprobs"][:top] or None} for entry in answer.logprobs
    ]
    return Logprobs.model_validate({"content": entries})


# Prompt tokens between two checks whether to stop. A small batch lets Ctrl-C work at once, and on a
# CPU it is as fast as a larger one.
_BATCH = 128
_CLOSING_SECONDS = 30


class EngineSettings(NamedTuple):
    """The weights and settings of an engine. Models with equal settings share an engine."""

    path: Path
    slots: int
    ctx: int
    threads: int


class StoppedError(Exception):
    """The answer is no longer needed."""


class LlamaEngine:
    """A loaded model.

    With one slot every call can be repeated exactly, and choice `i` of a seed is the only choice of
    `seed + i`: the engine computes the prompt from scratch, once for all choices, and each choice
    computes its last token again. With several slots, llama.cpp computes requests together and
    keeps prompts between calls. Both change logprobs slightly.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self._slots = settings.slots
        self._free_slots = BoundedSemaphore(settings.slots)
        self._closing = Event()
        self._key = secrets.token_urlsafe(32)
        self._server = _load(settings, self._key)

    def answer(self, body: dict[str, Any], n: int, stop: Event) -> LlamaReply:
        """Answer a chat request `n` times, with the seeds `body["seed"] + i`.

        It raises RefusedError if llama.cpp cannot answer, and StoppedError if `stop` is set.
        """
        with self._slot(stop):
            prompt = {**body, "max_tokens": 0, "cache_prompt": False}
            computed = [self._request(prompt, stop)] if self._slots == 1 else []
            # llama.cpp refuses an n above its slots. For one request it increments the seed itself.
            parts = [
                {"n": min(self._slots, n - i), "seed": body["seed"] + i, "cache_prompt": True}
                for i in range(0, n, self._slots)
            ]
            replies = [self._request(body | part, stop) for part in parts]
            return LlamaReply(
                choices=[choice for reply in replies for choice in reply.choices],
                prompt_tokens=sum(reply.prompt_tokens for reply in computed or replies),
                cached_tokens=sum(reply.cached_tokens for reply in computed or replies),
            )

    def count_tokens(self, messages: list[dict[str, Any]]) -> int:
        """Return the number of tokens of a conversation, including the chat template."""
        # Only the server's HTTP port counts tokens without computing.
        with httpx.Client(
            base_url=self._server.listening_address,
            headers={"Authorization": f"Bearer {self._key}"},
            trust_env=False,
        ) as client:
            prompt = _content(client.post("/apply-template", json={"messages": messages}))
            text = {"content": prompt["prompt"], "add_special": True, "parse_special": True}
            return len(_content(client.post("/tokenize", json=text))["tokens"])

    def close(self) -> None:
        """Stop the running requests and free the model, before the interpreter frees it."""
        self._closing.set()
        if all(self._free_slots.acquire(timeout=_CLOSING_SECONDS) for _ in range(self._slots)):
            del self._server

    def _request(self, body: dict[str, Any], stop: Event) -> LlamaReply:
        chunks: list[dict[str, Any]] = []

        def receive(chunk: dict[str, Any]) -> bool:
            chunks.append(chunk)
            return self._stopped(stop)

        # Only a streamed answer can be stopped. A stream also leaves out the message that is
        # continued, which an answer in one piece would repeat.
        try:
            self._server.handle_chat_completions(
                {**body, "stream": True, "return_progress": True}, receive
            )
        except RuntimeError as error:
            raise RefusedError({"message": str(error)}) from None
        if self._stopped(stop):
            raise StoppedError
        return join_chunks(chunks)

    def _stopped(self, stop: Event) -> bool:
        return stop.is_set() or self._closing.is_set()

    @contextmanager
    def _slot(self, stop: Event) -> Iterator[None]:
        while not (free := self._free_slots.acquire(timeout=0.1)) and not self._stopped(stop):
            pass
        try:
            if self._stopped(stop):
                raise StoppedError
            yield
        finally:
            if free:
                self._free_slots.release()


_engines: dict[EngineSettings, LlamaEngine] = {}
_loading = Lock()


def shared_engine(settings: EngineSettings) -> LlamaEngine:
    """Return the engine with these settings. The first call loads it."""
    with _loading:
        if settings not in _engines:
            _engines[settings] = LlamaEngine(settings)
        return _engines[settings]


def check_engine(settings: EngineSettings) -> None:
    """Raise a ModelError if llama.cpp is not installed or the weights do not fit into memory."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(
            "Embedded models need xllamacpp, which is not installed. "
            "Install it: pip install 'misstep[embedded]'"
        )
    if settings not in _engines:
        check_memory(settings.path)


@atexit.register
def _close_engines() -> None:
    while _engines:
        _engines.popitem()[1].close()


def _content(response: httpx.Response) -> dict[str, Any]:
    content: dict[str, Any] = response.json()
    if response.is_error:
        raise RefusedError(content.get("error") or {"message": response.text})
    return content


def _load(settings: EngineSettings, key: str) -> Any:  # noqa: ANN401 - xllamacpp has no types
    """Return the server object of xllamacpp, with the model loaded."""
    # Set before OpenMP loads. Otherwise its threads use CPU time while they wait.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelError(
            f"xllamacpp cannot be imported: {error}. "
            "Reinstall it: pip install --force-reinstall 'misstep[embedded]'"
        ) from None
    try:
        return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), settings, key))
    except RuntimeError:
        raise ModelError(
            f"llama.cpp cannot load {settings.path}. Either the file is incomplete, or "
            f"xllamacpp {xllamacpp.__version__} does not know this kind of model, or "
            f"{settings.slots} x {settings.ctx} tokens of context do not fit into memory. Download "
            "the file again, upgrade xllamacpp, or lower -M slots and -M ctx."
        ) from None


def _parameters(parameters: Any, settings: EngineSettings, key: str) -> object:  # noqa: ANN401
    parameters.model.path = str(settings.path)
    parameters.n_parallel = settings.slots
    parameters.n_ctx = settings.slots * settings.ctx
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings.threads
    parameters.prefill_assistant = True
    parameters.verbosity = 0
    parameters.warmup = False
    parameters.offline = True
    # Use the context size of the settings, not one that fits the memory of the moment.
    parameters.fit_params = False
    # Keep nothing from one call to the next, except in a slot.
    parameters.cache_ram_mib = parameters.n_ctx_checkpoints = 0
    # xllamacpp always opens an HTTP port on the loopback address. The key keeps others out.
    parameters.api_keys = [key]
    parameters.cors_origins = ""
    parameters.ui = False
    parameters.n_threads_http = 1
    return parameters
