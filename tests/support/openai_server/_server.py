"""The server: its thread, its socket, and its answers."""

import asyncio
import json
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterator
from types import TracebackType
from typing import Any, Self

from tests.support.openai_server._faults import Faults, spoil_replies
from tests.support.openai_server._http import (
    Connection,
    HttpRequest,
    Response,
    error_response,
    json_response,
)
from tests.support.openai_server._pooling import POOLING, PoolingFunction, pooled
from tests.support.openai_server._replies import critic
from tests.support.openai_server._wire import (
    CHAT,
    MODELS,
    TEXT,
    BadRequestError,
    ChatRequest,
    Reply,
    ReplyFunction,
    check,
    completion,
)

_HOST = "127.0.0.1"
_METHODS = {CHAT: "POST", TEXT: "POST", MODELS: "GET", **dict.fromkeys(POOLING, "POST")}
_PATIENCE = 10
"""Seconds to wait for the server's thread, which needs milliseconds."""
_PATIENCE_WITH_CLIENTS = 120
"""Seconds to wait for clients. Processes on a busy machine start slowly."""


class OpenAIServer:
    """An OpenAI-compatible server on this machine. It runs in a thread, inside a `with` block.

    Args:
        reply: Returns one choice of an answer; called in the server's thread.
        port: The port; 0 takes a free one.
        latency: Milliseconds before each answer.
        max_choices: The largest `n` that is served. More are ignored without an error, as some
            providers do.
        faults: The requests that fail, and how they fail.
        pooling: Returns the score of an input of vLLM's pooling routes; called in the server's
            thread.
        record: Keep every request in `requests`.
    """

    def __init__(
        self,
        reply: ReplyFunction = critic,
        *,
        port: int = 0,
        latency: float = 0.0,
        max_choices: int | None = None,
        faults: Faults | None = None,
        pooling: PoolingFunction | None = None,
        record: bool = True,
    ) -> None:
        self._reply = reply
        self._port = port
        self._latency = latency / 1000
        self._max_choices = max_choices
        self._faults = faults or Faults()
        self._pooling = pooling
        self._hold: Callable[[ChatRequest], bool] | None = None
        self._held: list[tuple[Connection, Response]] = []
        self._record = record
        self._fault_of_next = self._faults.in_order()
        self._arrived = self._in_flight = self._most_in_flight = 0
        self._requests: list[ChatRequest] = []
        self._problems: list[Exception] = []
        self._lock = threading.Lock()
        self._connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base URL of the server."""
        return f"http://{_HOST}:{self._port}/v1"

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    @property
    def requests(self) -> list[ChatRequest]:
        """The requests so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def most_in_flight(self) -> int:
        """The largest number of requests in progress at one time."""
        return self._most_in_flight

    def hold_after(
        self, answers: int, kind: Callable[[ChatRequest], Hashable] = lambda request: None
    ) -> None:
        """Answer this many more requests of each kind; hold the others until `release()`.

        So a test can stop a client at a known call.
        """
        seen: Counter[Hashable] = Counter()

        def hold(request: ChatRequest) -> bool:
            seen[kind(request)] += 1
            return seen[kind(request)] > answers

        self._hold = hold

    def wait_for_held(self, count: int, process: subprocess.Popen[Any] | None = None) -> None:
        """Wait until this many clients wait for `release()`; fail if the process ends before."""
        for _ in _until_patience_ends("its calls are held"):
            if sum(one in self._connections for one, _ in list(self._held)) == count:
                return
            assert process is None or process.poll() is None, "it ended before its calls were held"

    def wait_for_disconnect(self) -> None:
        """Wait until every client has closed its connections."""
        for _ in _until_patience_ends("clients close their connections"):
            if not self._connections:
                return

    def release(self) -> None:
        """Answer the requests that are held, and hold no more."""
        self._hold = None
        self._loop.call_soon_threadsafe(self._send_held)

    def __enter__(self) -> Self:
        self._bind()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._socket.close()
        # A client may retry a failure of the server for minutes, and hide it.
        if self._problems and problem is None:
            raise self._problems[0]

    def up(self) -> None:
        """Accept connections."""
        self._run(self._listen())

    def down(self) -> None:
        """Close all connections and refuse new ones until `up()`."""
        self._run(self._refuse())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def _bind(self) -> None:
        """Bind the port. A socket that is bound but does not listen refuses connections."""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((_HOST, self._port))
        self._port = self._socket.getsockname()[1]

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.get_running_loop().create_server(
                lambda: Connection(self._handle, self._connections), sock=self._socket, backlog=1024
            )

    async def _refuse(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            for connection in list(self._connections):
                connection.abort()
            # A listening socket cannot stop listening, so another socket keeps the port.
            self._bind()

    def _handle(self, http: HttpRequest, connection: Connection) -> None:
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        try:
            body = dict(json.loads(http.body or b"{}"))
        except (ValueError, TypeError) as problem:
            refusal = error_response(400, f"the body is not a JSON object: {problem}")
            self._send(connection, refusal)
            return
        request = ChatRequest(self._arrived, http.path, http.headers, body)
        self._arrived += 1
        if self._record:
            with self._lock:
                self._requests.append(request)
        try:
            response = self._respond(http, request)
        except Exception as problem:
            self._problems.append(problem)
            response = error_response(400, f"the test server failed: {problem!r}")
        if self._hold is not None and self._hold(request):
            self._held.append((connection, response))
        elif self._latency:
            self._loop.call_later(self._latency, self._send, connection, response)
        else:
            self._send(connection, response)

    def _send(self, connection: Connection, response: Response) -> None:
        self._in_flight -= 1
        connection.send(response)

    def _send_held(self) -> None:
        while self._held:
            self._send(*self._held.pop(0))

    def _respond(self, http: HttpRequest, request: ChatRequest) -> Response:
        if http.path not in _METHODS:
            return error_response(404, f"no such path: {http.path}")
        if http.method != _METHODS[http.path]:
            return error_response(405, f"{http.path} takes {_METHODS[http.path]}")
        return _models() if http.path == MODELS else self._complete(request)

    def _complete(self, request: ChatRequest) -> Response:
        fault = next(self._fault_of_next)
        if refusal := self._faults.refused(fault):
            return refusal
        try:
            if request.path in POOLING:
                answer = json_response(200, pooled(request, self._pooling))
                return self._faults.spoilt(fault, answer)
            check(request)
            replies = self._replies(request)
        except BadRequestError as problem:
            return error_response(400, str(problem))
        except Exception as problem:
            # A 400, because clients retry other errors and would hide a bug in a reply function.
            return error_response(400, f"the reply function failed: {problem!r}")
        content = completion(request, spoil_replies(fault, replies))
        return self._faults.spoilt(fault, json_response(200, content))

    def _replies(self, request: ChatRequest) -> list[Reply]:
        count = min(request.choices, self._max_choices or request.choices)
        made = (self._reply(request, choice) for choice in range(count))
        return [Reply(reply) if isinstance(reply, str) else reply for reply in made]


def _until_patience_ends(what: str) -> Iterator[None]:
    end = time.monotonic() + _PATIENCE_WITH_CLIENTS
    while time.monotonic() < end:
        yield
        time.sleep(0.02)
    raise TimeoutError(f"waited {_PATIENCE_WITH_CLIENTS} seconds until {what}")


def _models() -> Response:
    model = {"id": "critic", "object": "model", "created": 0, "owned_by": "misstep"}
    return json_response(200, {"object": "list", "data": [model]})
