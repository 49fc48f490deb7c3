"""What Inspect's settings save: the processor time of one run with each, beside one with none."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._programs import BIN, LEAN, MODEL, program
from benchmarks._rows import rows_file
from benchmarks._runs import CONNECTIONS, server_process

SAMPLES = 600
SETTINGS: dict[str, Sequence[str]] = {
    "--no-log-realtime": ["--no-log-realtime"],
    "--no-score-display": ["--no-score-display"],
    "--ctl-server false": ["--ctl-server", "false"],
    "--log-model-api false": ["--log-model-api", "false"],
    "--log-buffer 100": ["--log-buffer", "100"],
    "the first three": LEAN,
}
WORKER = (sys.executable, "-m", "misstep.shards")
"""Inspect's command with the garbage collector told what stays."""


def measure() -> Iterator[Measurement]:
    """Processor time, start-up included, as a share of that with Inspect's defaults."""
    inspect = (str(BIN / "inspect"),)
    with server_process() as url, rows_file(SAMPLES) as rows:
        # Once before: what is compiled and cached the first time.
        _cpu(inspect, (), rows, url)
        plain = min(_cpu(inspect, (), rows, url) for _ in range(2))
        for name, options in SETTINGS.items():
            yield _share(name, _cpu(inspect, options, rows, url), plain)
        yield _share("the first three, as a worker", _cpu(WORKER, LEAN, rows, url), plain)


def _share(name: str, cpu: float, plain: float) -> Measurement:
    note = f"{cpu:.1f} s, Inspect's defaults {plain:.1f} s; {SAMPLES} samples at 0 ms"
    return Measurement(f"processor time with {name}", cpu / plain, "times", None, note)


def _cpu(command: Sequence[str], options: Sequence[str], rows: Path, url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        task = ("eval", "misstep/processbench", "-T", f"source={rows}", *MODEL)
        connections = ("--max-connections", str(CONNECTIONS), "--max-samples", "128")
        told = ("--log-dir", folder, "--display", "none")
        return program([*command, *task, *connections, *told, *options], url).cpu
