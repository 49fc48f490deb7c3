"""HTTP/1.1 with keep-alive on an asyncio protocol: the part of it that API clients use."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias, cast


@dataclass(frozen=True)
class HttpRequest:
    """A complete request, with header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """A response, and how to send it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    """Break the connection in the middle of the body."""
    pause: float = 0.0
    """Seconds to wait in the middle of the body."""


def json_response(status: int, content: object, **headers: str) -> Response:
    """Return a JSON response."""
    return Response(status, json.dumps(content).encode(), headers)


def error_response(status: int, message: str, code: str | None = None, **headers: str) -> Response:
    """Return an error response in the format of OpenAI's API."""
    kind = HTTPStatus(status).phrase.lower().replace(" ", "_")
    content: dict[str, Any] = {
        "message": message,
        "type": kind,
        "param": None,
        "code": code or kind,
    }
    return json_response(status, {"error": content}, **headers)


def take_request(buffer: bytearray) -> HttpRequest | None:
    """Take the first complete request from the buffer; return None if it is incomplete.

    Raises:
        ValueError: The buffer holds something that this server does not read.
    """
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *lines = buffer[:end].decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    if "transfer-encoding" in headers:
        raise ValueError("chunked bodies are not supported; send a Content-Length")
    stop = end + 4 + int(headers.get("content-length", "0"))
    if len(buffer) < stop:
        return None
    body = bytes(buffer[end + 4 : stop])
    del buffer[:stop]
    return HttpRequest(method, path.partition("?")[0], headers, body)


class Connection(asyncio.Protocol):
    """A client's connection. Its requests are answered one by one."""

    def __init__(self, handle: "Handler", connections: "set[Connection]") -> None:
        self._handle = handle
        self._connections = connections
        self._buffer = bytearray()
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()

    def _advance(self) -> None:
        """Handle the next complete request, unless one is in progress."""
        if self._busy:
            return
        try:
            request = take_request(self._buffer)
        except ValueError as problem:
            self.send(error_response(400, f"not a request: {problem}"))
            self._transport.close()
            return
        if request is not None:
            self._busy = True
            self._handle(request, self)

    def send(self, response: Response) -> None:
        """Send the response to the request in progress."""
        if self._transport.is_closing():
            return
        headers = {"content_type": "application/json", **response.headers}
        lines = [
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"content-length: {len(response.body)}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        middle = len(response.body) // 2
        if response.cut:
            self._transport.write(head + response.body[:middle])
            self._transport.close()
        elif response.pause:
            self._transport.write(head + response.body[:middle])
            loop = asyncio.get_running_loop()
            loop.call_later(response.pause, self._finish, response.body[middle:])
        else:
            self._finish(head + response.body)

    def _finish(self, content: bytes) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(content)
        self._busy = False
        if self._buffer:
            asyncio.get_running_loop().call_soon(self._advance)


Handler: TypeAlias = Callable[[HttpRequest, Connection], None]
