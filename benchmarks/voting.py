"""Eight votes by one request a sample, beside one vote."""

from collections.abc import Iterator
from pathlib import Path

from inspect_ai.model import Model

from benchmarks._measurement import Measurement
from benchmarks._rows import rows_file
from benchmarks._runs import lacking, local_model, seconds, server_process
from misstep.evals.processbench import processbench

NAME = "8 votes beside 1"
TARGET = 1.6
SAMPLES = 400
LATENCY = 200
TIMES = 2


def measure() -> Iterator[Measurement]:
    """The time with eight votes as a multiple of that with one."""
    if note := lacking("votes"):
        yield Measurement(NAME, None, "times", TARGET, note)
        return
    with server_process("--latency", str(LATENCY)) as url, rows_file(SAMPLES) as path:
        model = local_model(url)
        # Once before: the first run in a process imports the client libraries.
        _seconds(path, model, 1)
        one = min(_seconds(path, model, 1) for _ in range(TIMES))
        eight = min(_seconds(path, model, 8) for _ in range(TIMES))
    note = f"{eight:.1f} s, one vote {one:.1f} s; {SAMPLES} samples at {LATENCY} ms"
    yield Measurement(NAME, eight / one, "times", TARGET, note)


def _seconds(path: Path, model: Model, votes: int) -> float:
    return seconds(processbench(source=str(path), votes=votes), model)
