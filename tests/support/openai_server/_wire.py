"""Chat and text completions in the format of OpenAI's API: requests, choices, usage."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from string import ascii_lowercase
from typing import Any, TypeAlias

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
MODELS = "/v1/models"

MOST_ALTERNATIVES = 20
"""OpenAI's limit for `top_logprobs`."""


class BadRequestError(ValueError):
    """A request that the API refuses."""


@dataclass(frozen=True)
class ChatRequest:
    """A request to the server."""

    number: int
    """The place in the order of arrival, from 0."""
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    """The parsed JSON; empty if the request had none."""
    arrived: float = field(default_factory=time.monotonic)

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages; the prompt of a text completion is a user message."""
        if self.path == TEXT:
            return [{"role": "user", "content": str(self.body["prompt"])}]
        return list(self.body["messages"])

    @cached_property
    def text(self) -> str:
        """The text of all messages, joined by newlines."""
        return "\n".join(_text(message.get("content")) for message in self.messages)

    @property
    def seed(self) -> int | None:
        """The requested seed."""
        return self.body.get("seed")

    @property
    def choices(self) -> int:
        """The requested number of choices."""
        return self.body.get("n") or 1

    @cached_property
    def key(self) -> bytes:
        """The messages and the seed: a deterministic reply depends on nothing else."""
        return json.dumps([self.messages, self.seed], sort_keys=True).encode()


@dataclass(frozen=True)
class Reply:
    """One choice."""

    text: str | None
    finish_reason: str = "stop"
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """For a token of the text, the probabilities of it and of its alternatives."""


ReplyFunction: TypeAlias = Callable[[ChatRequest, int], Reply | str]
"""Returns the choice with that index, from 0."""


def _text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.get("text", "") for part in content)


def check(request: ChatRequest) -> None:
    """Refuse a request that cannot be answered.

    Raises:
        BadRequestError: With the reason.
    """
    wanted = "prompt" if request.path == TEXT else "messages"
    if not request.body.get(wanted):
        raise BadRequestError(f"{wanted} is missing or empty")
    if request.body.get("stream"):
        raise BadRequestError("stream is not supported by this server; send the request without it")
    if not isinstance(request.choices, int) or request.choices < 1:
        raise BadRequestError(f"n is {request.choices!r}; it must be a whole number of at least 1")
    if not 0 <= _alternatives(request) <= MOST_ALTERNATIVES:
        raise BadRequestError(f"top_logprobs must be from 0 to {MOST_ALTERNATIVES}")


def completion(request: ChatRequest, replies: Sequence[Reply]) -> dict[str, Any]:
    """Return the body of a completion."""
    chat = request.path == CHAT
    shape = _chat_choice if chat else _text_choice
    prompt, written = tokens_in(request.text), sum(tokens_in(reply.text) for reply in replies)
    return {
        "id": f"cmpl-{request.number}",
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": request.body.get("model", ""),
        "choices": [shape(request, index, reply) for index, reply in enumerate(replies)],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
        },
    }


def tokens_in(text: str | None) -> int:
    """Return the number of tokens, at four characters each."""
    return (len(text or "") + 3) // 4


def _chat_choice(request: ChatRequest, index: int, reply: Reply) -> dict[str, Any]:
    logprobs = None
    if request.body.get("logprobs"):
        content = [
            {
                **_entry(token, chances[token]),
                "top_logprobs": [_entry(*pair) for pair in _top(chances, _alternatives(request))],
            }
            for token, chances in _tokens(reply)
        ]
        logprobs = {"content": content, "refusal": None}
    return {
        "index": index,
        "message": {"role": "assistant", "content": reply.text, "refusal": None},
        "finish_reason": reply.finish_reason,
        "logprobs": logprobs,
    }


def _text_choice(request: ChatRequest, index: int, reply: Reply) -> dict[str, Any]:
    logprobs: dict[str, list[Any]] | None = None
    if request.body.get("logprobs") is not None:
        logprobs = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        offset = 0
        for token, chances in _tokens(reply):
            top = {other: log(p) for other, p in _top(chances, _alternatives(request))}
            logprobs["tokens"].append(token)
            logprobs["token_logprobs"].append(log(chances[token]))
            logprobs["top_logprobs"].append(top)
            logprobs["text_offset"].append(offset)
            offset += len(token)
    return {
        "index": index,
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "logprobs": logprobs,
    }


def _alternatives(request: ChatRequest) -> int:
    """Return how many alternatives to each token are requested."""
    wanted = request.body.get("logprobs" if request.path == TEXT else "top_logprobs")
    return int(wanted or 0)


_TOKEN = re.compile(r"\s?\w+|\s?[^\w\s]|\s")
_OWN = 0.9
# Further alternatives, so that there are as many as requested.
_OTHERS = {f" {letter}": 0.004 / 2**i for i, letter in enumerate(ascii_lowercase)}


def _tokens(reply: Reply) -> list[tuple[str, Mapping[str, float]]]:
    """Return the tokens of the text, each with the probabilities of its alternatives."""
    return [
        (token, {**_OTHERS, token: _OWN, **reply.chances.get(token, {})})
        for token in _TOKEN.findall(reply.text or "")
    ]


def _top(chances: Mapping[str, float], count: int) -> list[tuple[str, float]]:
    ordered = sorted(chances.items(), key=lambda pair: pair[1], reverse=True)
    return ordered[:count]


def _entry(token: str, chance: float) -> dict[str, Any]:
    return {"token": token, "logprob": log(chance), "bytes": list(token.encode())}
