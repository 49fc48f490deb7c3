"""Counting the tokens of prompts: exactly where the tokenizer is at hand, else by a rule."""

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.model import ChatMessage, get_model

from misstep.registry import CHARACTERS_A_TOKEN, service_model

_ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Where tiktoken gets an encoding from, which its cache is named by."""
_A_MESSAGE, _A_REPLY = 4, 3
"""Tokens around each message and before the reply: OpenAI's guide to counting tokens (its cookbook,
"How to count tokens with tiktoken"), for all chat models since 2023; a role is one more token."""


@dataclass(frozen=True)
class TokenCounter:
    """A way to count."""

    rule: str
    """In words."""
    exact: bool
    count: Callable[[Sequence[ChatMessage]], Awaitable[int]]


def token_counter(model: str) -> TokenCounter:
    """The best way to count for a model that needs no network.

    Args:
        model: The model's name in Inspect.
    """
    provider, _, name = service_model(model).partition("/")
    if provider == "embedded":
        own = get_model(model)
        return TokenCounter(
            "the model's own tokenizer", True, lambda messages: own.count_tokens(list(messages))
        )
    if provider == "openai" and (encoding := _encoding(name.rpartition("/")[2])):
        return _by_tiktoken(encoding)
    rule = f"characters divided by {CHARACTERS_A_TOKEN}, an estimate"

    async def count(messages: Sequence[ChatMessage]) -> int:
        return -(-sum(len(message.text) for message in messages) // CHARACTERS_A_TOKEN)

    return TokenCounter(rule, False, count)


def _by_tiktoken(name: str) -> TokenCounter:
    import tiktoken

    encoding = tiktoken.get_encoding(name)

    async def count(messages: Sequence[ChatMessage]) -> int:
        texts = [message.text for message in messages]
        within = sum(len(encoding.encode(text, disallowed_special=())) for text in texts)
        return within + _A_MESSAGE * len(messages) + _A_REPLY

    return TokenCounter(f"tiktoken's {name}", True, count)


def _encoding(model: str) -> str | None:
    """The name of an OpenAI model's encoding, if tiktoken has it and needs no download."""
    try:
        from tiktoken import encoding_name_for_model
    except ImportError:
        return None
    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    own = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(own or Path(tempfile.gettempdir()) / "data-gym-cache")
    key = hashlib.sha1(_ENCODINGS.format(name).encode(), usedforsecurity=False).hexdigest()
    return name if (folder / key).is_file() else None
