"""What users write: YAML, task arguments, paths, and secrets that must not be kept.

Also the errors that users can fix. A message names the value, the allowed values and the cure.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from misstep._inspect_private import PrerequisiteError
from misstep.plain_text import printable, rich_text


class MisstepError(PrerequisiteError):
    """An error that the user can fix. Inspect prints its message without a traceback.

    The message may quote data. It is escaped only for Inspect's console.
    """

    def __init__(self, message: str) -> None:
        super().__init__(rich_text(message))
        self.plain = printable(message)

    def __str__(self) -> str:
        return self.plain


class RegistryError(MisstepError):
    """A registry file is missing or malformed."""


class DataError(MisstepError):
    """Rows or files are missing, changed or malformed."""


class ModelError(MisstepError):
    """A model cannot be used, or cannot do what the task needs."""


class UnknownNameError(MisstepError):
    """A name is not registered."""

    def __init__(self, kind: str, name: object, known: Iterable[str], more: str = "") -> None:
        """Make the message; `more` is a further sentence, e.g. what is allowed besides names."""
        close = did_you_mean(str(name), sorted(known))
        super().__init__(f"Unknown {kind} {str(name)!r}.{close}{more and f' {more}'}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the closest match, if there is one, and all allowed values."""
    allowed = list(known)
    return f"{_closest(name, allowed)} Allowed: {', '.join(allowed) or 'none'}."


class UnknownEvalError(MisstepError):
    """There is no such eval. There are too many to name all of them."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        close = _closest(name.removeprefix("misstep/"), known)
        super().__init__(f"Unknown eval {name!r}.{close} `misstep list` shows all evals.")


def _closest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


_MAX_DEPTH = 100
"""Nested lists and mappings. libyaml crashes the process at about ten thousand."""
_MAX_VALUES = 1_000_000
"""Values of a text. Aliases repeat values: a few lines can stand for billions."""
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PACKAGE = Path(__file__).parent
_START = Path.cwd()
"""The user's folder. Inspect changes the working directory while it makes a task; the entry point
imports this module before that."""


class _UniqueKeyLoader(_Loader):  # type: ignore[misc]
    """A loader that refuses duplicate keys. YAML itself silently keeps the last one."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:  # noqa: ANN401
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"duplicate key {key!r}", key_node.start_mark
            )
        seen.add(key)
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_yaml(text: str) -> Any:  # noqa: ANN401
    """Return the content of a YAML text that may come from anybody, or raise yaml.YAMLError."""
    # For each open list or mapping: its anchor, and how many values it holds with its aliases.
    opened: list[list[Any]] = [[None, 0]]
    sizes: dict[str | None, int] = {}
    for event in yaml.parse(text, _Loader):
        size = 1
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append([event.anchor, 1])
            if len(opened) > _MAX_DEPTH:
                raise yaml.YAMLError(f"more than {_MAX_DEPTH} nested lists and mappings")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = opened.pop()
            sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
        opened[-1][1] += size
        if opened[-1][1] > _MAX_VALUES:
            raise yaml.YAMLError(f"more than {_MAX_VALUES:,} values, with those of its aliases")
    return _content(text)


def read_yaml(path: Path) -> Any:  # noqa: ANN401
    """Return the content of a registry file."""
    # The package's own files are trusted. To check them too would slow down every start.
    read = _content if path.parent == _PACKAGE else parse_yaml
    try:
        return read(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise RegistryError(f"{path}: cannot be read ({problem.strerror}).") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise RegistryError(f"{path}: not valid YAML: {_one_line(problem)}") from None


def _content(text: str) -> Any:  # noqa: ANN401
    try:
        return _UniqueKeyLoader(text).get_single_data()
    except yaml.YAMLError:
        raise
    except Exception as problem:
        # PyYAML lets other errors through, e.g. for a date in month 13 or a list as a key.
        raise yaml.YAMLError(f"invalid value: {problem}") from None


def task_arguments(texts: Iterable[str]) -> dict[str, Any]:
    """Return task arguments from texts `name=value`, read as Inspect reads them.

    The value is YAML; `a,b` is a list.
    """
    return dict(map(_task_argument, texts))


def _task_argument(text: str) -> tuple[str, Any]:
    name, equals, written = text.partition("=")
    if not equals or not name:
        raise MisstepError(f"'{text}' is not a task argument; write -T name=value")
    try:
        value = parse_yaml(written)
    except yaml.YAMLError as problem:
        raise MisstepError(
            f"-T {text}: the value is not valid YAML: {_one_line(problem)}"
        ) from None
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    return name.replace("-", "_"), value


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def user_path(path: str) -> Path:
    """Return a user's path as an absolute path.

    A relative path is relative to the folder where the process started. If it exists only in the
    current folder, it is relative to that.
    """
    given = Path(path).expanduser()
    started = _START / given
    return given.absolute() if given.exists() and not started.exists() else started


_SECRET_WORDS = {
    *("secret", "secrets", "password", "passwd", "passphrase", "authorization", "bearer"),
    *("credential", "credentials", "apikey", "header", "headers", "cookie", "cookies"),
}
"""A name with one of these words holds a secret."""
_SECRET_LAST_WORDS = {"key", "token", "auth", "pat", "pwd", "sig", "signature"}
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
    return bool(_SECRET_WORDS.intersection(words)) or (
        words[-1] in _SECRET_LAST_WORDS and not is_model_token
    )


MAX_SIZE = "MISSTEP_MAX_SIZE"
"""The environment variable with the most bytes that a compressed file may expand to."""


def max_expanded_size() -> int | None:
    """Return the most bytes that a compressed file or log may expand to, if the user set it."""
    text = os.environ.get(MAX_SIZE)
    if text is None:
        return None
    if not text.isdecimal() or not int(text):
        raise MisstepError(f"{MAX_SIZE}={text}: a number of bytes is needed, such as 8000000000.")
    return int(text)
