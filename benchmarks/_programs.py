"""Run whole programs and measure their time, CPU time and memory."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._runs import CONNECTIONS, ROOT

BIN = Path(sys.executable).parent
WEIGH = Path(__file__).with_name("_weigh.py")
# Makes Inspect faster; costs only the live view of a run.
LEAN = ("--no-log-realtime", "--no-score-display", "--ctl-server", "false")
MODEL = ("--model", "openai-api/local/critic")
LEANER = (*LEAN, "--no-log-model-api")
"""Makes Inspect faster still; the log has no requests."""
LEAN_MODEL = ("--model", "lean/local/critic")
"""The same model through the provider with the least CPU time."""


@dataclass(frozen=True)
class Usage:
    """The time and memory of a program."""

    seconds: float
    cpu: float
    """CPU seconds, including child processes."""
    megabytes: float
    """The peak memory of its largest process."""
    output: str


def program(command: Sequence[str | Path], url: str = "") -> Usage:
    """Run a program against the server at this URL and measure it.

    Raises:
        RuntimeError: The program failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    environment |= {"LOCAL_API_KEY": "x", "LOCAL_BASE_URL": url}
    with tempfile.NamedTemporaryFile() as report:
        process = subprocess.Popen(
            [sys.executable, WEIGH, report.name, *command],
            cwd=ROOT,
            env=environment,
            # Keep stdin open: a worker ends when its stdin closes.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with process.stdout as stream:  # type: ignore[union-attr]
            output = stream.read().decode(errors="replace")
        process.wait()
        taken = json.load(report)
    if taken["status"]:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {output[-2000:]}")
    return Usage(**taken["usage"], output=output)


def run_options(folder: str | Path, connections: int = CONNECTIONS) -> tuple[str, ...]:
    """Return Inspect's options for a run at full speed that writes its log to this folder."""
    return (
        *("--max-connections", str(connections), "--max-samples", str(2 * connections)),
        *("--log-dir", str(folder), *LEAN),
    )


def inspect_eval(task: str, folder: str | Path, *options: str) -> list[str | Path]:
    """Return the command of an eval in one process."""
    settings = (*run_options(folder), "--display", "none")
    return [BIN / "inspect", "eval", task, *MODEL, *settings, *options]


def two_processes(task: str, folder: str | Path, *options: str) -> list[str | Path]:
    """Return the fastest command for an eval: two processes that share the connections."""
    # Samples are per process, so each has twice as many as connections.
    settings = (*run_options(folder), *LEANER, "--max-samples", str(CONNECTIONS))
    return [BIN / "misstep", "run", task, "--processes", "2", *LEAN_MODEL, *settings, *options]


def raw_calls(requests: Path) -> list[str | Path]:
    """Return the command that sends requests with asyncio and the openai client alone.

    It prints the seconds that they took.
    """
    return [sys.executable, "-m", "benchmarks._raw", requests]
