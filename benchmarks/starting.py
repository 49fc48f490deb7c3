"""Time from the start of a run to its first call: 100,000 generated rows relative to 500.

Each runs in a process of its own: `python -m benchmarks.starting 500`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from inspect_ai.model import ModelOutput, get_model

from benchmarks._measurement import Measurement
from benchmarks._runs import ROOT, run
from misstep.evals.procedural import procedural

TARGET = 1.5
FEW, MANY = 500, 100_000
TIMES = 2


def measure() -> Iterator[Measurement]:
    """The time to the first call as a multiple."""
    few, many = (min(_seconds(rows) for _ in range(TIMES)) for rows in (FEW, MANY))
    note = f"{many:.1f} s for {MANY:,} rows, {few:.1f} s for {FEW}"
    yield Measurement("start of a long run", many / few, "times", TARGET, note)


def _seconds(rows: int) -> float:
    command = [sys.executable, "-m", "benchmarks.starting", str(rows)]
    # The run breaks off at its first call and leaves its log behind: in a folder that goes.
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TMPDIR": folder}
        return float(subprocess.check_output(command, text=True, cwd=ROOT, env=environment))


def main(rows: int) -> None:
    """Start a run, print how long its first call took to come, and leave it there."""
    start = time.perf_counter()

    def first(*_: Any) -> ModelOutput:  # noqa: ANN401
        print(time.perf_counter() - start, flush=True)
        os._exit(0)

    run(procedural(n=rows), get_model("mockllm/model", custom_outputs=first))


if __name__ == "__main__":
    main(int(sys.argv[1]))
