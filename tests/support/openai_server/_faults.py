"""Faults that the server makes on purpose, in a repeatable order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count
from random import Random

from tests.support.openai_server._http import Response, error_response
from tests.support.openai_server._wire import Reply


class Fault(StrEnum):
    """A kind of failure."""

    RATE_LIMIT = "rate_limit"
    """429 without Retry-After."""
    RETRY_AFTER = "retry_after"
    """429 with Retry-After."""
    SERVER_ERROR = "server_error"
    """500."""
    UNAVAILABLE = "unavailable"
    """503."""
    CONTEXT_LENGTH = "context_length"
    """400: the prompt is too long for the model."""
    LONG_REFUSAL = "long_refusal"
    """400 with a body of 200 kB, another one for each request."""
    CUT = "cut"
    """The connection breaks in the middle of the body."""
    SLOW_BODY = "slow_body"
    """A pause in the middle of the body."""
    MALFORMED_JSON = "malformed_json"
    NO_CHOICES = "no_choices"
    WRONG_CHOICES = "wrong_choices"
    """One choice fewer than requested; two instead of one."""
    NULL_CONTENT = "null_content"
    TRUNCATED = "truncated"
    """Half the text, with the finish reason `length`."""
    REFUSAL = "refusal"
    """A refusal, with the finish reason `content_filter`."""


PASSING_FAULTS = (
    Fault.RATE_LIMIT,
    Fault.RETRY_AFTER,
    Fault.SERVER_ERROR,
    Fault.UNAVAILABLE,
    Fault.CUT,
    Fault.SLOW_BODY,
    Fault.MALFORMED_JSON,
    Fault.NO_CHOICES,
)
"""Faults of one request: the server answers when it is asked again."""


@dataclass(frozen=True)
class Faults:
    """The requests that fail, and how they fail.

    Raises:
        ValueError: The rates are not probabilities that add up to at most 1.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    """The share of requests with each fault."""
    script: Sequence[Fault | None] = ()
    """The faults of the first requests, in order of arrival; the rates apply afterwards."""
    seed: int = 0
    retry_after: float = 1.0
    """The seconds in Retry-After."""
    pause: float = 1.0
    """The seconds of the pause in a slow body."""

    def __post_init__(self) -> None:
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1:
            raise ValueError(f"rates must be from 0 and add up to at most 1: {dict(self.rates)}")

    def in_order(self) -> Iterator[Fault | None]:
        """Yield the fault of each request, in order of arrival."""
        yield from self.script
        # The last outcome is no fault.
        outcomes = [*self.rates, None]
        weights = [*self.rates.values(), 1 - sum(self.rates.values())]
        generator = Random(self.seed)
        while True:
            yield generator.choices(outcomes, weights)[0] if self.rates else None

    def refused(self, fault: Fault | None) -> Response | None:
        """Return the error response of a fault, or None if the fault is no error response."""
        match fault:
            case Fault.RATE_LIMIT:
                return error_response(429, "Rate limit reached.")
            case Fault.RETRY_AFTER:
                wait = f"{self.retry_after:g}"
                message = f"Rate limit reached. Please try again in {wait}s."
                return error_response(429, message, retry_after=wait)
            case Fault.SERVER_ERROR:
                return error_response(500, "The server had an error.")
            case Fault.UNAVAILABLE:
                return error_response(503, "The server is overloaded.")
            case Fault.CONTEXT_LENGTH:
                message = "This model's maximum context length is 8192 tokens."
                return error_response(400, message, code="context_length_exceeded")
            case Fault.LONG_REFUSAL:
                return error_response(400, f"{next(_numbers)} {'x' * 200_000}")
            case _:
                return None

    def spoilt(self, fault: Fault | None, response: Response) -> Response:
        """Return the response with the fault applied to how it is sent."""
        match fault:
            case Fault.CUT:
                return replace(response, cut=True)
            case Fault.SLOW_BODY:
                return replace(response, pause=self.pause)
            case Fault.MALFORMED_JSON:
                return replace(response, body=response.body[: len(response.body) // 2])
            case _:
                return response


_numbers = count()


def spoil_replies(fault: Fault | None, replies: list[Reply]) -> list[Reply]:
    """Return the choices with the fault applied."""
    match fault:
        case Fault.NO_CHOICES:
            return []
        case Fault.WRONG_CHOICES:
            return replies[:-1] or replies * 2
        case Fault.NULL_CONTENT:
            return [replace(reply, text=None) for reply in replies]
        case Fault.TRUNCATED:
            return [Reply(_half(reply.text), "length", reply.chances) for reply in replies]
        case Fault.REFUSAL:
            return [Reply("I'm sorry, I can't help with that.", "content_filter") for _ in replies]
        case _:
            return replies


def _half(text: str | None) -> str:
    return (text or "")[: len(text or "") // 2]
