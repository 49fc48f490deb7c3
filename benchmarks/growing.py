"""What more samples take: processor time, memory and log of ProcessBench, 400 to 27,200 samples."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._programs import program, two_processes
from benchmarks._rows import rows_file
from benchmarks._runs import server_process

SIZES = (400, 3_400, 27_200)
LINEAR = 1.15
"""What a sample more may take at the large end, as a multiple of what it takes at the small end."""


@dataclass(frozen=True)
class Size:
    """What a run of so many samples took."""

    samples: int
    cpu: float
    """Seconds."""
    memory: float
    """Megabytes, of the largest process."""
    log: float
    """Megabytes."""


def measure() -> Iterator[Measurement]:
    """The cost of a sample more at the large end beside that at the small end."""
    small, middle, large = (_taken(samples) for samples in SIZES)
    for what, unit in (("cpu", "ms of CPU"), ("memory", "kB of memory"), ("log", "kB of log")):
        early, late = (
            1000 * (getattr(b, what) - getattr(a, what)) / (b.samples - a.samples)
            for a, b in ((small, middle), (middle, large))
        )
        totals = ", ".join(f"{getattr(size, what):.3g}" for size in (small, middle, large))
        note = f"{late:.2f} {unit} a sample more, {early:.2f} at first; in all {totals}"
        target = None if what == "memory" else LINEAR
        yield Measurement(f"growth of {what}", late / early, "times", target, note)


def _taken(samples: int) -> Size:
    with (
        rows_file(samples) as rows,
        tempfile.TemporaryDirectory() as folder,
        server_process() as url,
    ):
        usage = program(two_processes("misstep/processbench", folder, "-T", f"source={rows}"), url)
        [log] = Path(folder).glob("*.eval")
        return Size(samples, usage.cpu, usage.megabytes, log.stat().st_size / 1e6)
