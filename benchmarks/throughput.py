"""ProcessBench from the command line to the log, beside raw asyncio and beside plain Inspect.

All are whole programs, start-up included, with the same prompts, latency and connections.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._rows import rows_file
from benchmarks._runs import CONNECTIONS, ROOT, server_process

SAMPLES = int(os.environ.get("MISSTEP_BENCH_SAMPLES", "1000"))
BIN = Path(sys.executable).parent
# What makes Inspect faster and costs nothing but the live view of a run.
LEAN = ("--no-log-realtime", "--no-score-display", "--ctl-server", "false")
UNITS = 1e6 if sys.platform == "darwin" else 1e3


@dataclass(frozen=True)
class Usage:
    """What a program took."""

    seconds: float
    cpu: float
    """Seconds of processors, those of its children included."""
    megabytes: float
    """The most that it, or one of its children, held."""


def measure() -> Iterator[Measurement]:
    """The time of each as a multiple of its peer's, at no latency and at 200 ms."""
    with rows_file(SAMPLES) as path:
        for latency in (0, 200):
            with server_process("--latency", str(latency)) as url:
                yield from _compared(url, path, latency)


def _compared(url: str, path: Path, latency: int) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        raw = program([sys.executable, "-m", "benchmarks._raw", url, str(path)])
        plain = program(_inspect("benchmarks/bare_task.py", url, path, folder))
        whole = program(_inspect("evals/processbench.py", url, path, folder))
        split = program(_split(url, path, folder))
    case = f"{SAMPLES:,} samples at {latency} ms"
    yield Measurement(
        "ProcessBench beside plain Inspect",
        whole.seconds / plain.seconds,
        "times",
        1.15,
        f"{_told(whole)}; plain {_told(plain)}; {case}",
    )
    yield Measurement(
        "two processes beside raw asyncio",
        split.seconds / raw.seconds,
        "times",
        2,
        f"{_told(split)}, {split.megabytes:.0f} MB a process; raw {_told(raw)}; {case}",
    )


def _told(usage: Usage) -> str:
    return f"{usage.seconds:.1f} s, {1000 * usage.cpu / SAMPLES:.1f} ms of CPU a sample"


def _options(url: str, path: Path, folder: str, connections: int = CONNECTIONS) -> list[str]:
    return [
        *("-T", f"source={path}", "--model", "openai-api/local/critic", "--model-base-url", url),
        *("--max-connections", str(connections), "--max-samples", str(2 * connections)),
        *("--log-dir", folder, *LEAN),
    ]


def _inspect(task: str, url: str, path: Path, folder: str) -> list[str]:
    return [str(BIN / "inspect"), "eval", task, *_options(url, path, folder), "--display", "none"]


def _split(url: str, path: Path, folder: str) -> list[str]:
    command = [str(BIN / "misstep"), "run", "misstep/processbench", "--processes", "2"]
    return command + _options(url, path, folder, CONNECTIONS // 2)


def program(command: Sequence[str]) -> Usage:
    """Run a program to its end, and measure it.

    Raises:
        RuntimeError: It failed.
    """
    start = time.perf_counter()
    environment = {**os.environ, "LOCAL_API_KEY": "x", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        said = process.stderr.read().decode() if process.stderr else ""
        raise RuntimeError(f"{' '.join(command)} failed: {said[-2000:]}")
    return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / UNITS)
