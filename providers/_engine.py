"""llama.cpp inside this process: one engine per weights and settings, shared by all who ask."""

import atexit
import importlib
import importlib.util
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import httpx

from misstep.providers._reply import Choice, RefusedError, Reply, read_reply
from misstep.providers._weights import check_memory
from misstep.registry import ModelError

# Prompt tokens between two looks at whether to stop: few enough that Ctrl-C is felt at once,
# and no slower than larger batches on a CPU.
_BATCH = 128
_CLOSING_SECONDS = 30


class Settings(NamedTuple):
    """What tells one engine from another."""

    path: Path
    slots: int
    ctx: int
    threads: int


class _Server(Protocol):
    listening_address: str

    def handle_chat_completions(
        self, prompt: dict[str, Any], callback: Callable[[dict[str, Any]], bool]
    ) -> None: ...


class StoppedError(Exception):
    """Nobody waits for the answer any more."""


class Engine:
    """A loaded model.

    With one slot every call is repeatable, whatever ran before: the prompt is read afresh, and
    each choice then starts from it by reading its last token again. Reading the prompt once for
    all choices is cheap, and reading it in the same way for one choice as for many gives choice
    `i` of a seed the same text as the only choice of `seed + i`. With more slots, requests are
    computed together and prompts are kept between calls, and both shift logprobs a little.
    """

    def __init__(self, settings: Settings) -> None:
        self._slots = settings.slots
        self._free = BoundedSemaphore(settings.slots)
        self._closing = Event()
        self._key = secrets.token_urlsafe(32)
        self._server = _load(settings, self._key)

    def answer(self, body: dict[str, Any], n: int, stop: Event) -> Reply:
        """Answer a chat request `n` times, with the seeds `body["seed"] + i`.

        Args:
            body: The request as llama.cpp's chat completions take it.
            n: The number of choices.
            stop: Set when the answer is no longer wanted.

        Raises:
            RefusedError: llama.cpp cannot answer this request.
            StoppedError: `stop` was set, or the engine is closing.
        """
        with self._slot(stop):
            if self._slots == 1:
                return self._in_turn(body, n, stop)
            return self._together(body, n, stop)

    def count_tokens(self, messages: list[dict[str, Any]]) -> int:
        """The tokens of a conversation as the model reads it, its template included.

        Only the server's port counts without computing anything.

        Args:
            messages: As llama.cpp's chat completions take them.

        Raises:
            RefusedError: llama.cpp cannot read this conversation.
        """
        with httpx.Client(
            base_url=self._server.listening_address,
            headers={"Authorization": f"Bearer {self._key}"},
            trust_env=False,
        ) as client:
            prompt = _answered(client.post("/apply-template", json={"messages": messages}))
            text = {"content": prompt["prompt"], "add_special": True, "parse_special": True}
            return len(_answered(client.post("/tokenize", json=text))["tokens"])

    def close(self) -> None:
        """Stop what runs and free the model.

        Left to the interpreter, the engine's threads would outlive what they stand on.
        """
        self._closing.set()
        if all(self._free.acquire(timeout=_CLOSING_SECONDS) for _ in range(self._slots)):
            del self._server

    def _in_turn(self, body: dict[str, Any], n: int, stop: Event) -> Reply:
        prompt = self._ask({**body, "max_tokens": 0, "cache_prompt": False}, stop)
        choices: list[Choice] = []
        for i in range(n):
            again = {**body, "seed": body["seed"] + i, "cache_prompt": True}
            choices += self._ask(again, stop).choices
        return Reply(choices, prompt.prompt_tokens, prompt.cached_tokens)

    def _together(self, body: dict[str, Any], n: int, stop: Event) -> Reply:
        choices: list[Choice] = []
        prompt_tokens = cached_tokens = 0
        while len(choices) < n:
            # llama.cpp refuses an n above its slots; within it, it counts the seed up itself.
            part = {"n": min(self._slots, n - len(choices)), "seed": body["seed"] + len(choices)}
            reply = self._ask({**body, **part, "cache_prompt": True}, stop)
            choices += reply.choices
            prompt_tokens += reply.prompt_tokens
            cached_tokens += reply.cached_tokens
        return Reply(choices, prompt_tokens, cached_tokens)

    def _ask(self, body: dict[str, Any], stop: Event) -> Reply:
        chunks: list[dict[str, Any]] = []

        def take(chunk: dict[str, Any]) -> bool:
            chunks.append(chunk)
            return self._stopped(stop)

        # Streamed, so that an answer can be stopped: else llama.cpp would finish it first. It
        # also leaves out the continued message, which an answer in one piece would repeat.
        try:
            self._server.handle_chat_completions(
                {**body, "stream": True, "return_progress": True}, take
            )
        except RuntimeError as problem:
            raise RefusedError({"message": str(problem)}) from None
        if self._stopped(stop):
            raise StoppedError
        return read_reply(chunks)

    def _stopped(self, stop: Event) -> bool:
        return stop.is_set() or self._closing.is_set()

    @contextmanager
    def _slot(self, stop: Event) -> Iterator[None]:
        while not self._free.acquire(timeout=0.1):
            if self._stopped(stop):
                raise StoppedError
        try:
            if self._stopped(stop):
                raise StoppedError
            yield
        finally:
            self._free.release()


_engines: dict[Settings, Engine] = {}
_loading = Lock()


def engine_for(settings: Settings) -> Engine:
    """The engine with these settings, loaded by the first who asks.

    Raises:
        ModelError: The model cannot be loaded.
    """
    with _loading:
        if settings not in _engines:
            _engines[settings] = Engine(settings)
        return _engines[settings]


def check_engine(settings: Settings) -> None:
    """Find out, without loading anything, what would keep a model from being loaded.

    Raises:
        ModelError: llama.cpp is not installed, or the weights do not fit into memory.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(
            "Embedded models run in xllamacpp, which is not installed. "
            "Install it with: pip install 'misstep[embedded]'"
        )
    if settings not in _engines:
        check_memory(settings.path)


@atexit.register
def _close_engines() -> None:
    while _engines:
        _engines.popitem()[1].close()


def _answered(response: httpx.Response) -> dict[str, Any]:
    content: dict[str, Any] = response.json()
    if response.is_error:
        raise RefusedError(content.get("error") or {"message": response.text})
    return content


def _load(settings: Settings, key: str) -> _Server:
    # Before OpenMP is loaded: its threads would else spin while they wait, at others' expense.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    except ImportError as problem:
        raise ModelError(
            f"xllamacpp cannot be imported: {problem}. "
            "Install it afresh with: pip install --force-reinstall 'misstep[embedded]'"
        ) from None
    try:
        server: _Server = xllamacpp.Server(_parameters(xllamacpp, settings, key))
    except RuntimeError:
        raise ModelError(
            f"llama.cpp cannot load {settings.path}: the file is incomplete, or of a kind that "
            f"xllamacpp {xllamacpp.__version__} does not know, or {settings.slots} x "
            f"{settings.ctx} tokens of context do not fit into memory. Download it again, "
            "upgrade xllamacpp, or lower -M slots and -M ctx."
        ) from None
    return server


def _parameters(xllamacpp: ModuleType, settings: Settings, key: str) -> object:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(settings.path)
    parameters.n_parallel = settings.slots
    parameters.n_ctx = settings.slots * settings.ctx
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = settings.threads
    parameters.cpuparams_batch.n_threads = settings.threads
    parameters.prefill_assistant = True
    parameters.verbosity = 0
    parameters.warmup = False
    parameters.offline = True
    # The context is the one asked for, not one fitted to the memory of the moment.
    parameters.fit_params = False
    # Nothing may be kept from one call to the next but what stands in a slot.
    parameters.cache_ram_mib = 0
    parameters.n_ctx_checkpoints = 0
    # xllamacpp always opens an HTTP port on the loopback address: nobody else gets the key.
    parameters.api_keys = [key]
    parameters.cors_origins = ""
    parameters.ui = False
    parameters.n_threads_http = 1
    return parameters
