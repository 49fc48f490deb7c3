"""Calls of models: refusals, shortened errors, an HTTP client, and concurrent calls.

A refusal is recognised by the words of real servers in the error of a failed call. The HTTP client
uses aiohttp, which takes less CPU time than the client of openai or httpx.
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import lru_cache, wraps
from random import uniform
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import httpx
from anyio.lowlevel import RunVar
from inspect_ai.model import Model, ModelAPI, ModelName, ModelOutput, model_roles
from inspect_ai.util import LimitExceededError, collect as collect_in_spans
from tenacity import RetryCallState

from misstep._inspect_private import RetryDecision, active_model
from misstep.registry import ModelError, find_provider

if TYPE_CHECKING:  # aiohttp is slow to import
    from aiohttp import ClientSession

    _OpenSession = tuple[ClientSession, AsyncGenerator[ClientSession, None]]


class Refusal(StrEnum):
    """A kind of request that a provider does not accept. The same request would fail again."""

    TOO_LONG = "the prompt is too long"
    SEVERAL_CHOICES = "the provider returns one choice per request"
    TRAILING_MESSAGE = "the conversation must not end with an assistant message"
    LATE_SYSTEM = "a system message must come first"


_STATUSES = (400, 413, 422, None)
"""The HTTP statuses of a refusal. Errors without a status come from providers in this process."""

_WORDS = {
    Refusal.TOO_LONG: re.compile(
        r"maximum context length|context[_ ]length[_ ]exceeded|exceed_context_size"
        r"|exceeds? the (?:available |model's )?context|prompt is too long"
        r"|input (?:token count|length|is too long)|too large for model with \d+ maximum context"
        r"|reduce the length|longer than the (?:maximum )?model length|max_model_len",
        re.IGNORECASE,
    ),
    Refusal.SEVERAL_CHOICES: re.compile(
        r"""\bn_cmpl\b|\bn must be|invalid n\b|['"`]n['"`]|\bn\s?(?:=|>|:)|\bcandidate_?count"""
        r"|multiple (?:candidates|choices|completions)|(?:one|single) (?:completion )?choice",
        re.IGNORECASE,
    ),
    Refusal.TRAILING_MESSAGE: re.compile(
        r"prefill|(?:ends?|finish) with an? (?:user|human) (?:message|role|turn)"
        r"|(?:last|final) (?:message|role|turn)[^.]{0,40}\b(?:user|tool)\b|expected last role"
        r"|continue_final_message|add_generation_prompt",
        re.IGNORECASE,
    ),
    Refusal.LATE_SYSTEM: re.compile(
        r"system (?:message|role|prompt)[^.]{0,60}(?:begin|first|start|top|not supported)"
        r"|roles must alternate|unexpected role 'system'",
        re.IGNORECASE,
    ),
}


_remembered: WeakKeyDictionary[ModelAPI, set[Hashable]] = WeakKeyDictionary()


def remembered_refusals(api: ModelAPI) -> set[Hashable]:
    """Return what a model has refused so far in this process. Solvers add to it and look it up.

    A request that was refused once is not tried again.
    """
    return _remembered.setdefault(api, set())


def refusal_of(error: BaseException) -> Refusal | None:
    """Return what a provider refused, or None if the call failed for another reason."""
    codes = (getattr(error, name, None) for name in ("status_code", "code"))
    if next((code for code in codes if isinstance(code, int)), None) not in _STATUSES:
        return None
    # Inspect's own message repeats the request, whose text could contain any of these words.
    return refusal_in(getattr(error, "provider_message", None) or str(error.__cause__ or error))


def refusal_in(text: str) -> Refusal | None:
    """Return the kind of refusal that a text describes, or None."""
    return next((kind for kind, words in _WORDS.items() if words.search(text)), None)


_LONGEST, _LONGEST_OF_API = 3_000, 1_000
"""Characters of an error message, and of one that an API gives, to which Inspect adds the request.
Inspect takes quadratic time to print and log a longer one."""


@contextmanager
def short_errors(*models: Model) -> Iterator[None]:
    """Shorten the messages of errors inside the `with` block: a server can send any text.

    Args:
        models: Models that are called, if they are not the model under test or that of a role.
    """
    for known in (active_model(), *model_roles().values(), *models):
        for model in known if isinstance(known, list) else [known]:
            if model is not None:
                shorten_errors_of(model.api)
    try:
        yield
    except Exception as error:
        _shorten(error)
        raise


_SHORT = "misstep_short_errors"
"""The attribute that marks a method that shortens errors."""


def shorten_errors_of(api: ModelAPI) -> None:
    """Make the API of a model shorten the messages of its errors.

    Inspect formats an error, with its traceback, when the API raises or returns it. So this one
    object gets a method `generate` that shortens errors first. No class is changed.
    """
    whole = api.generate
    if hasattr(whole, _SHORT):
        return

    @wraps(whole)
    async def generate(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        try:
            result = await whole(*arguments, **options)
        except Exception as error:
            _shorten(error, _LONGEST_OF_API)
            raise
        output = result[0] if isinstance(result, tuple) else result
        if isinstance(output, Exception):
            _shorten(output, _LONGEST_OF_API)
        return result

    setattr(generate, _SHORT, True)
    api.generate = generate  # type: ignore[method-assign]


def _shorten(error: BaseException, longest: int = _LONGEST) -> None:
    """Shorten the texts of an error and of its causes, wherever SDKs keep them."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    for one in chain:
        if any(isinstance(part, str) and len(part) > longest for part in one.args):
            one.args = tuple(
                shortened_text(part, longest) if isinstance(part, str) else part
                for part in one.args
            )
        for name in ("message", "provider_message"):
            text = getattr(one, name, None)
            if isinstance(text, str) and len(text) > longest:
                _set(one, name, shortened_text(text, longest))
        if isinstance(body := getattr(one, "body", None), str | dict | list):
            _set(one, "body", short_texts(body))


def _set(error: BaseException, name: str, value: object) -> None:
    with suppress(AttributeError):  # some errors have it as a property
        setattr(error, name, value)


async def output_or_too_long(model: str, call: Awaitable[ModelOutput]) -> ModelOutput:
    """Return the output of a call.

    If the prompt is refused for its length, the output has the stop reason `model_length`, as
    Inspect gives it for the providers whose refusal it knows.
    """
    try:
        with short_errors():
            return await call
    except Exception as error:
        if refusal_of(error) is not Refusal.TOO_LONG:
            raise
        reason = getattr(error, "provider_message", None) or str(error)
        return ModelOutput.from_content(model, reason[:500], stop_reason="model_length")


def check_logprobs(model: Model, need: str, instead: str) -> None:
    """Raise an error if a model is known to give no logprobs; `need` says what needs them."""
    name = ModelName(model)
    if not find_provider(name.api).gives_logprobs(name.name):
        raise ModelError(f"{need} needs logprobs, and {model} gives none. {instead}")


_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30 * 60
_LONGEST_ERROR, _LONGEST_DOCUMENT, _LONGEST_TEXT, _MOST_PARTS = 2_000, 20_000, 1_000, 20
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
        short = json.dumps(short_texts(json.loads(content))).encode()
    except (ValueError, RecursionError):
        return content[:_LONGEST_ERROR]
    # Lists in lists can hold any number of short texts.
    return short if len(short) <= _LONGEST_DOCUMENT else content[:_LONGEST_ERROR]


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


T = TypeVar("T")


async def collect(*calls: Awaitable[T]) -> list[T]:
    """Make calls at the same time and return their results, each in a span of its own.

    If calls fail, one of their errors is raised as it is. If several calls fail, Inspect's own
    function raises a group. A group does not name the cause, it is not retried, and Inspect does
    not see a limit of the sample inside it.
    """
    try:
        return await collect_in_spans(*calls)
    except ExceptionGroup as group:
        raise _first_error(group) from group


def _first_error(group: ExceptionGroup[Exception]) -> Exception:
    """Return the limit that a call exceeded, else the first error."""
    limits = group.subgroup(LimitExceededError)
    error: Exception = group if limits is None else limits
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
