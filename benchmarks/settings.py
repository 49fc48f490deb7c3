"""The CPU time that Inspect's settings save, relative to a run with its defaults."""

import tempfile
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._programs import BIN, LEAN, LEAN_MODEL, LEANER, MODEL, program
from benchmarks._rows import rows_file
from benchmarks._runs import CONNECTIONS, server_process

SAMPLES = 300
TIMES = 2
DEFAULTS = "Inspect's defaults"
SETTINGS: dict[str, Sequence[str]] = {
    DEFAULTS: [],
    "--no-log-realtime": ["--no-log-realtime"],
    "--no-score-display": ["--no-score-display"],
    "--ctl-server false": ["--ctl-server", "false"],
    "--log-model-api false": ["--log-model-api", "false"],
    "--log-buffer 100": ["--log-buffer", "100"],
    "the first three": LEAN,
}


def measure() -> Iterator[Measurement]:
    """Yield the CPU time with each setting, start-up included."""
    inspect = (str(BIN / "inspect"), "eval", "--display", "none")
    commands = {name: (inspect, (*MODEL, *options)) for name, options in SETTINGS.items()}
    run = (str(BIN / "misstep"), "run", "--processes", "1")
    commands["misstep run in one process"] = (run, MODEL)
    commands["the same, with lean/…"] = (run, LEAN_MODEL)
    commands["all of these"] = (run, (*LEAN_MODEL, *LEANER))
    least = dict.fromkeys(commands, inf)
    with server_process() as url, rows_file(SAMPLES) as rows:
        # Alternately, because the speed of a machine changes within minutes.
        for _ in range(TIMES):
            for name, (command, options) in commands.items():
                least[name] = min(least[name], _cpu(command, options, rows, url))
    plain = least.pop(DEFAULTS)
    yield from (_share(name, cpu, plain) for name, cpu in least.items())


def _share(name: str, cpu: float, plain: float) -> Measurement:
    note = f"{cpu:.1f} s, {DEFAULTS} {plain:.1f} s; {SAMPLES} samples at 0 ms"
    return Measurement(f"processor time with {name}", cpu / plain, "times", None, note)


def _cpu(command: Sequence[str], options: Sequence[str], rows: Path, url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        task = ("misstep/processbench", "-T", f"source={rows}", "--log-dir", folder)
        connections = ("--max-connections", str(CONNECTIONS), "--max-samples", "128")
        return program([*command, *task, *connections, *options], url).cpu
