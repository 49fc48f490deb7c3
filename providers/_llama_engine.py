"""llama.cpp inside this process: one engine for each combination of weights and settings."""

import atexit
import importlib
import importlib.util
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock
from typing import Any, NamedTuple

import httpx

from misstep.providers._llama_chat import LlamaReply, RefusedError, read_reply
from misstep.providers._weights import check_memory
from misstep.registry import ModelError

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
        return read_reply(chunks)

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
