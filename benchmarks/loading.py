"""Loading and checking as many rows as ProcessBench has."""

from collections.abc import Iterator

from benchmarks._measurement import Measurement, quickest
from benchmarks._rows import FULL, rows_file
from misstep.loaders import first_error_dataset

TARGET = 1.0


def measure() -> Iterator[Measurement]:
    """The time from a file to samples."""
    with rows_file(FULL) as path:
        value = quickest(lambda: first_error_dataset(str(path)))
    yield Measurement("load and check rows", value, "s", TARGET, f"{FULL:,} rows")
