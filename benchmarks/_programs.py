"""Whole programs, from their start to their end, and what they take."""

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
# What makes Inspect faster and costs nothing but the live view of a run.
LEAN = ("--no-log-realtime", "--no-score-display", "--ctl-server", "false")
MODEL = ("--model", "openai-api/local/critic")
LEANER = (*LEAN, "--no-log-model-api")
"""What makes it faster at some cost: requests are not in the log."""
LEAN_MODEL = ("--model", "lean/local/critic")
"""The same, called with less work of the processor."""


@dataclass(frozen=True)
class Usage:
    """What a program took."""

    seconds: float
    cpu: float
    """Seconds of processors, those of its children included."""
    megabytes: float
    """The most that it, or one of its children, held."""
    said: str


def program(command: Sequence[str | Path], url: str = "") -> Usage:
    """Run a program to its end, against the server at this address, and measure it.

    Raises:
        RuntimeError: It failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    environment |= {"LOCAL_API_KEY": "x", "LOCAL_BASE_URL": url}
    with tempfile.NamedTemporaryFile() as told:
        process = subprocess.Popen(
            [sys.executable, WEIGH, told.name, *command],
            cwd=ROOT,
            env=environment,
            # Held open: a worker ends when its parent does, which it tells by this.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with process.stdout as stream:  # type: ignore[union-attr]
            said = stream.read().decode(errors="replace")
        process.wait()
        taken = json.load(told)
    if taken["status"]:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {said[-2000:]}")
    return Usage(**taken["usage"], said=said)


def run_options(folder: str | Path, connections: int = CONNECTIONS) -> tuple[str, ...]:
    """Inspect's options for a run at full speed, its log in this folder."""
    return (
        *("--max-connections", str(connections), "--max-samples", str(2 * connections)),
        *("--log-dir", str(folder), *LEAN),
    )


def inspect_eval(task: str, folder: str | Path, *options: str) -> list[str | Path]:
    """The command of an eval in one process."""
    settings = (*run_options(folder), "--display", "none")
    return [BIN / "inspect", "eval", task, *MODEL, *settings, *options]


def two_processes(task: str, folder: str | Path, *options: str) -> list[str | Path]:
    """The command of an eval as fast as it goes: in two processes, with as many connections."""
    settings = (*run_options(folder, CONNECTIONS // 2), *LEANER)
    return [BIN / "misstep", "run", task, "--processes", "2", *LEAN_MODEL, *settings, *options]


def raw_calls(requests: Path) -> list[str | Path]:
    """The command of the same requests with nothing but asyncio and the openai client.

    It says how many seconds they took.
    """
    return [sys.executable, "-m", "benchmarks._raw", requests]
