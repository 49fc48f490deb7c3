"""Values as files hold them: numbers as text, lists as JSON or as Python prints them."""

import ast
import json
from typing import Annotated

from pydantic import Field

_LONGEST = 4_000_000
"""Characters of a printed list. Longer ones are not read: Python's parser takes some hundred bytes
of memory a character."""

NonEmpty = Annotated[str, Field(min_length=1)]


def whole_number(value: object) -> int:
    """An integral number or its text; nothing is rounded."""
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            value = _float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("expected a whole number: -1, or the index of a step")
    return int(value)


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def json_list(value: object) -> object:
    """A list, or the JSON text of one, as CSV files hold it."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def printed_list(value: object) -> object:
    """A list, or the text of one: JSON, or as Python prints it. Nothing in it is run."""
    value = json_list(value)
    if isinstance(value, str) and value.lstrip().startswith("[") and len(value) <= _LONGEST:
        try:
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def id_text(value: object) -> object:
    """An integer id as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
