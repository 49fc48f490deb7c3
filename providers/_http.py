"""An HTTP client on aiohttp, which takes less CPU time than the client of openai or httpx."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import lru_cache
from random import uniform
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import httpx
from anyio.lowlevel import RunVar
from tenacity import RetryCallState

from misstep._inspect_private import RetryDecision

if TYPE_CHECKING:  # aiohttp is slow to import
    from aiohttp import ClientSession

    _OpenSession = tuple[ClientSession, AsyncGenerator[ClientSession, None]]

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30 * 60
_LONGEST_ERROR, _LONGEST_TEXT, _MOST_PARTS = 2_000, 1_000, 20
"""Bytes of an error response that is kept whole; characters and parts of a longer one."""
_LONGEST_RETRY_AFTER = 120
"""Seconds. A longer wait that a server asks for is ignored."""


# To parse an address takes more time than to send a request.
_parsed = lru_cache(httpx.URL)


class HttpClient:
    """The connections to one server.

    Each event loop has its own connections, because two runs in one process have two event loops.
    Inspect limits the number of calls at once (`--max-connections`).
    """

    def __init__(self, url: str, timeout: float = 600, connect_timeout: float = 60) -> None:
        self._server = httpx.URL(url)
        self._timeouts = {"total": timeout, "sock_connect": connect_timeout}
        # A generator yields the session: an event loop that ends closes its generators, and the
        # generator then closes the session.
        self._open: RunVar[_OpenSession | None] = RunVar(f"session_{id(self)}", None)

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a JSON body. The response and the errors are those of httpx: Inspect knows them."""
        import aiohttp

        session = await self._session()
        request = httpx.Request("POST", _parsed(url))
        content = json.dumps(body, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", **headers}
        try:
            async with session.post(url, data=content, headers=headers, params=params) as response:
                received = await response.read()
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no answer in time: {error}", request=request) from error
        except aiohttp.ClientError as error:
            reason = f"{type(error).__name__}: {error}"
            raise httpx.NetworkError(reason, request=request) from error
        if response.status >= 400:
            received = _short_error(received)
        # aiohttp has decompressed the content already.
        kept = [item for item in response.headers.items() if item[0] != "Content-Encoding"]
        return httpx.Response(response.status, headers=kept, content=received, request=request)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if opened := self._open.get():
            self._open.set(None)
            await opened[1].aclose()

    async def _session(self) -> "ClientSession":
        if opened := self._open.get():
            return opened[0]
        generator = self._open_session()
        session = await anext(generator)
        self._open.set((session, generator))
        return session

    async def _open_session(self) -> "AsyncGenerator[ClientSession, None]":
        import aiohttp

        server = self._server
        # The same certificates as other clients use: SSL_CERT_FILE, or else those of certifi.
        secure = httpx.create_ssl_context() if server.scheme == "https" else True
        # aiohttp itself would look for the proxy of the environment at every call, in a thread.
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=secure),
            timeout=aiohttp.ClientTimeout(**self._timeouts),
            proxy=None if proxy_bypass(server.host) else getproxies().get(server.scheme),
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            yield session


def _short_error(content: bytes) -> bytes:
    """Return the body of an error response with its texts shortened.

    Inspect formats the error with its traceback. That takes time quadratic in its length.
    """
    if len(content) <= _LONGEST_ERROR:
        return content
    try:
        return json.dumps(short_texts(json.loads(content))).encode()
    except (ValueError, RecursionError):
        return content[:_LONGEST_ERROR]


def short_texts(content: Any) -> Any:  # noqa: ANN401
    """Return the content of a JSON document with its texts and lists shortened."""
    if isinstance(content, dict):
        kept = list(content.items())[:_MOST_PARTS]
        return {str(name)[:_LONGEST_TEXT]: short_texts(value) for name, value in kept}
    if isinstance(content, list):
        return [short_texts(value) for value in content[:_MOST_PARTS]]
    return shortened_text(content, _LONGEST_TEXT) if isinstance(content, str) else content


def shortened_text(text: str, longest: int) -> str:
    """Return the beginning and the end of a text that is too long."""
    if len(text) <= longest:
        return text
    kept = longest // 2
    return f"{text[:kept]} … ({len(text) - 2 * kept:,} characters left out) … {text[-kept:]}"


def retry_wait(should_retry: Callable[[Exception], bool | RetryDecision]) -> Callable[..., float]:
    """Return a function that says how many seconds to wait before the next attempt.

    The waits are those of the openai client: the time that the server asks for, or else 0.5 seconds
    and twice as long after each attempt. Inspect's own waits begin with 3 to 6 seconds, because it
    expects that the client has retried already.
    """

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        decision = should_retry(error) if isinstance(error, Exception) else None
        retry_after = decision.retry_after if isinstance(decision, RetryDecision) else None
        if retry_after and 0 < retry_after <= _LONGEST_RETRY_AFTER:
            return float(retry_after)
        doubled = _FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 20)
        return min(doubled, _LONGEST_WAIT) * uniform(0.75, 1)  # noqa: S311 (not a secret)

    return wait
