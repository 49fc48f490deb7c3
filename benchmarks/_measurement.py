"""What a benchmark gives back."""

import time
from collections.abc import Callable
from dataclasses import dataclass

TIMES = 3


@dataclass(frozen=True)
class Measurement:
    """One figure, of which less is better."""

    name: str
    value: float | None
    """None where it was skipped; the note says why."""
    unit: str
    target: float | None
    """None where the figure is told and not judged."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The figure as a share of its target."""
        return None if self.value is None or self.target is None else self.value / self.target

    @property
    def outcome(self) -> str:
        """Whether the target is met."""
        if self.value is None:
            return "skipped"
        if self.ratio is None:
            return ""
        return "ok" if self.ratio <= 1 else "over"


def quickest(work: Callable[[], object]) -> float:
    """The seconds of the quickest of some goes: what else the machine does only adds to them."""
    return min(_seconds(work) for _ in range(TIMES))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
