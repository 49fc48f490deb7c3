"""Errors that users can fix. The message names the value, the allowed values and the cure."""

from collections.abc import Iterable
from difflib import get_close_matches

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
