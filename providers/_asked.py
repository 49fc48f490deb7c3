"""Which vote or step a call asks for: what a replay of recorded outputs must know.

A prompt does not say that it is the third vote on it. Solvers say so around the call, other
providers never see it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """What a call asks for."""

    vote: int = 0
    """The place of its first choice among the sample's votes."""
    step: int | None = None
    """The step that is judged, where each is asked about by itself."""
    rewards: bool = False
    """Whether the rewards of all steps are asked for."""


_FIRST = Asked()
_ASKED: ContextVar[Asked] = ContextVar("asked", default=_FIRST)


@contextmanager
def set_call_purpose(
    vote: int = 0, step: int | None = None, rewards: bool = False
) -> Iterator[None]:
    """Say what the calls inside the `with` ask for.

    Args:
        vote: The place of the first choice among the sample's votes.
        step: The step that is judged.
        rewards: Whether the rewards of all steps are asked for.
    """
    before = _ASKED.set(Asked(vote, step, rewards))
    try:
        yield
    finally:
        _ASKED.reset(before)


def what_is_asked() -> Asked:
    """What the running call asks for."""
    return _ASKED.get()
