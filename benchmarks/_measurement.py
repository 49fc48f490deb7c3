"""The result of a benchmark, and the time of the fastest run."""

import time
from collections.abc import Callable
from dataclasses import dataclass

TIMES = 3


@dataclass(frozen=True)
class Measurement:
    """One measured value; lower is better."""

    name: str
    value: float | None
    """None if it was skipped; the note says why."""
    unit: str
    target: float | None
    """None if the value is only reported."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The value relative to its target."""
        return None if self.value is None or self.target is None else self.value / self.target

    @property
    def outcome(self) -> str:
        """Whether the value meets its target."""
        if self.value is None:
            return "skipped"
        if self.ratio is None:
            return ""
        return "ok" if self.ratio <= 1 else "over"


def quickest(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs: other load only adds to a run's time."""
    return min(_seconds(work) for _ in range(TIMES))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
