"""Secrets in what users write. Commands are written to files, and keys must not be."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_ALWAYS = {
    *("secret", "secrets", "password", "passwd", "passphrase", "authorization", "bearer"),
    *("credential", "credentials", "apikey", "header", "headers", "cookie", "cookies"),
}
"""A name with one of these words holds a secret."""
_AT_THE_END = {"key", "token", "auth", "pat", "pwd", "sig", "signature"}
"""A name that ends with one of these words holds a secret, unless it is a token of a model."""
_MODEL_TOKENS = {"step", "bos", "eos", "pad", "unk", "sep", "stop", "start", "end", "single"}
_OPTIONS = {"env"}
"""Options whose values are secrets, whatever they are called."""

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ASSIGNED = re.compile(r"""([A-Za-z][\w.-]*)[\\"']*\s*[=:](?!//)\s*[\\"']*[^\s\\"'}\],]""")
_USER = re.compile(r"\w://[^/\s\"'@]*@")


def find_secret(content: Any) -> str | None:  # noqa: ANN401
    """Return the name of the first thing that looks like a secret in texts, lists and mappings.

    Secrets are: user information and keys in URLs, headers, the values of `--env`, and values
    whose names tell it, such as `api_key`, `token` or `password`. The value is never returned.
    """
    return next(_secrets(content), None)


def _secrets(content: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(content, str):
        yield from _in_text(content)
    elif isinstance(content, Mapping):
        for name, value in content.items():
            if _is_secret(str(name)) and value not in (None, "", {}, []):
                yield str(name)
            yield from _secrets(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _secrets(value)


def _in_text(text: str) -> Iterator[str]:
    option = text.partition("=")[0]
    if option.startswith("--") and (option.strip("-") in _OPTIONS or _is_secret(option)):
        yield option
    if _USER.search(text):
        yield "a user name in a URL"
    # In `?key=…&token=…` and `{"api_key": …}` a name stands before each value.
    for found in _ASSIGNED.finditer(text):
        if _is_secret(found[1]):
            yield found[1]


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[0] == "no":  # `--no-…` switches something off.
        return False
    is_model_token = words[-1] == "token" and len(words) > 1 and words[-2] in _MODEL_TOKENS
    return bool(_ALWAYS.intersection(words)) or (words[-1] in _AT_THE_END and not is_model_token)
