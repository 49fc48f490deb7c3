"""What more samples take: processor time, memory and log of ProcessBench, 400 to 27,200 samples.

A machine that is busy for minutes may become slower. The server, which does the same for every
request, tells by how much: growth of processor time is that beyond the server's.
"""

import resource
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
    """What a run took."""

    samples: int
    cpu: float
    """Seconds."""
    server: float
    """Seconds of the server's."""
    memory: float
    """Megabytes, of the largest process."""
    log: float
    """Megabytes."""


def measure() -> Iterator[Measurement]:
    """Measure the cost of another sample at the large end relative to the small end."""
    small, middle, large = (_taken(samples) for samples in SIZES)
    for what, unit in (("cpu", "ms of CPU"), ("memory", "kB of memory"), ("log", "kB of log")):
        early, late = _more(what, small, middle), _more(what, middle, large)
        growth = late / early
        totals = ", ".join(f"{getattr(size, what):.3g}" for size in (small, middle, large))
        note = f"{late:.2f} {unit} a sample more, {early:.2f} at first; in all {totals}"
        if what == "cpu":
            slower = _more("server", middle, large) / _more("server", small, middle)
            growth /= slower
            note += f"; the server's {slower:.2f} times"
        target = None if what == "memory" else LINEAR
        yield Measurement(f"growth of {what}", growth, "times", target, note)


def _more(what: str, few: Size, many: Size) -> float:
    """Thousandths that a sample more takes."""
    return 1000 * (getattr(many, what) - getattr(few, what)) / (many.samples - few.samples)


def _taken(samples: int) -> Size:
    before = _children_cpu()
    with (
        rows_file(samples) as rows,
        tempfile.TemporaryDirectory() as folder,
        server_process() as url,
    ):
        usage = program(two_processes("misstep/processbench", folder, "-T", f"source={rows}"), url)
        [log] = Path(folder).glob("*.eval")
        log_size = log.stat().st_size / 1e6
    server = _children_cpu() - before - usage.cpu
    return Size(samples, usage.cpu, server, usage.megabytes, log_size)


def _children_cpu() -> float:
    """Processor seconds of all programs that this one has started, and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
