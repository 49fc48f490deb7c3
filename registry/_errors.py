"""A user's mistake: one message that names the value, what is allowed, and the cure."""

from collections.abc import Iterable
from difflib import get_close_matches

from rich.markup import escape

from misstep._inspect_private import PrerequisiteError


class MisstepError(PrerequisiteError):
    """Something the user can put right. Inspect prints these without a traceback.

    The message may quote data, so it is kept plain here and escaped where Inspect prints it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(escape(printable(message)))
        self.plain = printable(message)

    def __str__(self) -> str:
        return self.plain


class RegistryError(MisstepError):
    """A registry file that cannot be read as what it should be."""


class DataError(MisstepError):
    """Rows that are missing, changed or malformed."""


class ModelError(MisstepError):
    """A model that cannot be used, or cannot do what is asked of it."""


class UnknownNameError(MisstepError):
    """A name that is not registered."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        allowed = sorted(known)
        super().__init__(f"Unknown {kind} {str(name)!r}.{did_you_mean(str(name), allowed)}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the close match, if any, and all that is allowed."""
    allowed = list(known)
    close = get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{hint} Allowed: {', '.join(allowed) or 'none'}."


def printable(text: str) -> str:
    """Without control characters, so that quoted data cannot drive a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
