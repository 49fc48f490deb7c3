"""HTTP by aiohttp, which takes a fraction of the processor's time that other clients take."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from random import uniform
from typing import Any, TypeAlias
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from anyio.lowlevel import RunVar
from tenacity import RetryCallState
from yarl import URL

from misstep._inspect_private import RetryDecision

_Opened: TypeAlias = tuple[aiohttp.ClientSession, AsyncGenerator[aiohttp.ClientSession, None]]

_FIRST, _LAST = 0.5, 30 * 60
_LONGEST = 120
"""Seconds: a server that names more is asked earlier."""


class Connections:
    """The connections to one server.

    They belong to a run: the next in this process has another event loop, and others. How many
    there are at once is Inspect's to say, by `--max-connections`.
    """

    def __init__(self, url: str, seconds: float = 600, connect_seconds: float = 60) -> None:
        self._server = URL(url)
        self._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=connect_seconds)
        self._opened: RunVar[_Opened | None] = RunVar(f"connections_{id(self)}", None)

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a JSON body; the answer is in httpx's form, as are the errors, which Inspect knows.

        Raises:
            httpx.TransportError: There was no answer.
        """
        session = await self._session()
        request = httpx.Request("POST", url)
        content = json.dumps(body, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", **headers}
        try:
            async with session.post(url, data=content, headers=headers, params=params) as answer:
                status, found, said = answer.status, answer.headers, await answer.read()
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no answer in time: {error}", request=request) from error
        except aiohttp.ClientError as error:
            reason = f"{type(error).__name__}: {error}"
            raise httpx.NetworkError(reason, request=request) from error
        # It is unpacked by now.
        kept = [(name, value) for name, value in found.items() if name != "Content-Encoding"]
        return httpx.Response(status, headers=kept, content=said, request=request)

    async def _session(self) -> aiohttp.ClientSession:
        if opened := self._opened.get():
            return opened[0]
        # An event loop that ends closes its generators, and so this session.
        generator = self._open()
        session = await anext(generator)
        self._opened.set((session, generator))
        return session

    async def _open(self) -> AsyncGenerator[aiohttp.ClientSession, None]:
        # Certificates as other clients find them: SSL_CERT_FILE, else those of certifi.
        secure = httpx.create_ssl_context() if self._server.scheme == "https" else True
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=secure),
            timeout=self._timeout,
            proxy=_proxy(self._server),
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            yield session

    async def aclose(self) -> None:
        """Close those of the running event loop."""
        if opened := self._opened.get():
            self._opened.set(None)
            await opened[1].aclose()


def waits(classify: Callable[[Exception], bool | RetryDecision]) -> Callable[..., float]:
    """How long to wait before a call is made again, as the openai client does.

    What the server names, else half a second at first and twice as long each time. Inspect itself
    begins with 3 to 6 seconds, since it counts on a client that has asked again by then.

    Args:
        classify: A provider's `should_retry`.
    """

    def wait(state: RetryCallState) -> float:
        problem = state.outcome.exception() if state.outcome else None
        decision = classify(problem) if isinstance(problem, Exception) else None
        if isinstance(decision, RetryDecision) and 0 < (decision.retry_after or 0) <= _LONGEST:
            return float(decision.retry_after or 0)
        doubled = _FIRST * 2.0 ** min(state.attempt_number - 1, 20)
        return min(doubled, _LAST) * uniform(0.75, 1)  # noqa: S311 (not a secret)

    return wait


def _proxy(url: URL) -> str | None:
    """The proxy that the environment names for an address.

    Asked once: aiohttp itself would ask at every call, in a thread.
    """
    if proxy_bypass(url.host or ""):
        return None
    return getproxies().get(url.scheme)
