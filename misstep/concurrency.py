"""Calls that are made at the same time."""

from collections.abc import Awaitable
from typing import TypeVar

from inspect_ai.util import LimitExceededError, collect as collect_in_spans

T = TypeVar("T")


async def collect(*calls: Awaitable[T]) -> list[T]:
    """Make calls at the same time and return their results, each in a span of its own.

    If calls fail, one of their errors is raised as it is. Inspect's own function raises a group
    where several fail: a group says nothing of the cause, it is not retried, and a limit of the
    sample that stands in it is not seen.
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
