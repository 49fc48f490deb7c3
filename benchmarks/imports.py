"""What every start of Inspect pays for misstep being installed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks._measurement import Measurement

TARGET = 150.0
TIMES = 5
MODULES = ("misstep.registry", "misstep.registry.entry_point")


def measure() -> Iterator[Measurement]:
    """The import time of each module after inspect_ai's own."""
    for module in MODULES:
        # Once before, so that compiling the modules is not counted.
        _milliseconds(module)
        value = median(_milliseconds(module) for _ in range(TIMES))
        yield Measurement(f"import {module}", value, "ms", TARGET, "after inspect_ai")


def _milliseconds(module: str) -> float:
    program = (
        "import time, inspect_ai\n"
        "start = time.perf_counter()\n"
        f"import {module}\n"
        "print(1000 * (time.perf_counter() - start))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    return float(subprocess.check_output(command, text=True, env=environment))
