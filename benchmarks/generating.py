"""Generating worked solutions."""

from collections.abc import Iterator

from benchmarks._measurement import TIMES, Measurement, quickest
from misstep.generator import FAMILIES, solutions

TARGET = 1.0
COUNT = 1300


def measure() -> Iterator[Measurement]:
    """The time of a solution, over all families."""
    value = quickest(lambda: list(solutions(7, COUNT))) / COUNT * 1000
    note = f"{COUNT:,} solutions of {len(FAMILIES)} families, the quickest of {TIMES} goes"
    yield Measurement("generate a solution", value, "ms", TARGET, note)
