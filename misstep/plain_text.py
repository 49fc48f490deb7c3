"""Text from data, made safe to print: for terminals, for Rich, for names of metrics, for charts.

Every text that comes from a file, a log or a model goes through one of these functions before it
is printed or drawn.
"""

import re
from collections.abc import Iterable
from typing import Any

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$])")
_VIEWER_MARKDOWN = re.compile(r"([\\`*_\[\]|~$])")
_NOT_IN_NAMES = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line separators, marks that reverse the direction of text, and surrogates."""


_BRACKET = re.compile(r"(?<!\\)(\\*)\[(?=([a-z#/@][^\[]*?\])?)")
"""A bracket with the backslashes before it. The second group is there if Rich reads markup."""


def printable(text: str) -> str:
    """Return a text with its control characters escaped, so that data cannot control a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def rich_text(text: object) -> str:
    r"""Return a text that Rich prints as it is: no markup, no control characters.

    Rich's own `escape` loses the backslash of a bracket that begins no markup, as in LaTeX's `\[`.
    """
    escaped = _BRACKET.sub(
        lambda found: found[1] * (2 if found[2] else 1) + r"\[", printable(str(text))
    )
    # A backslash at the end would escape the markup that may follow.
    alone = escaped.endswith("\\") and not escaped.endswith("\\\\")
    return escaped + "\\" if alone else escaped


def without_markup(text: str) -> str:
    """Return a text with Rich's markup removed, as Inspect's messages to the user have it."""
    from rich.errors import MarkupError
    from rich.text import Text

    try:
        return printable(Text.from_markup(text).plain)
    except MarkupError:
        return printable(text)


def metric_key(name: str) -> str:
    """Return the name of a metric that contains a name from data, such as that of a subset.

    Inspect prints the names of metrics with Rich, which reads `[…]` as markup.
    """
    return name if name.isprintable() and "[" not in name else rich_text(one_line(name))


def metric_values(metrics: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return metrics by name; the names are those of `metric_key`."""
    return {metric_key(name): value for name, value in metrics}


def one_line(text: object) -> str:
    """Return a text in one line, without control characters."""
    return " ".join(printable(str(text)).split())


def markdown_text(text: object) -> str:
    """Return a text in one line, escaped for Markdown."""
    return _MARKDOWN.sub(r"\\\1", one_line(text)).replace("&", "&amp;")


def viewer_text(text: object) -> str:
    """Return a text in one line, escaped for Markdown in Inspect's viewer.

    The viewer escapes HTML before it reads Markdown, so `<`, `>` and `&` stay as they are.
    """
    return _VIEWER_MARKDOWN.sub(r"\\\1", one_line(text))


def printable_strings(content: Any) -> Any:  # noqa: ANN401
    """Return JSON content whose strings have no control characters."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, dict):
        return {printable_strings(key): printable_strings(value) for key, value in content.items()}
    if isinstance(content, list):
        return [printable_strings(value) for value in content]
    return content


def check_name(name: str) -> str:
    """Return an id or the name of a subset; raise ValueError if it has control characters.

    Logs keep samples by id, and a log loses samples whose ids have such characters.
    """
    if not name.isprintable() and (found := _NOT_IN_NAMES.search(name)):
        raise ValueError(
            f"U+{ord(found.group()):04X} at place {found.start()} is a control character, which "
            "names and ids must not have; remove it"
        )
    return name
