"""Run tasks through Inspect, without a display and without keeping logs."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from inspect_ai import Task
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries
from inspect_ai.model import Model

from tests.support.runs import local_model as support_model, succeed

CONNECTIONS = 64
ROOT = Path(__file__).parents[1]


def run(task: Task, model: Model) -> None:
    """Run a task."""
    with tempfile.TemporaryDirectory() as folder:
        _run(task, model, folder)


def seconds(task: Task, model: Model) -> float:
    """Run a task; return the seconds from its first sample to its last."""
    with tempfile.TemporaryDirectory() as folder:
        return span(_run(task, model, folder).location)


def span(log: str) -> float:
    """Return the seconds from the start of a log's first sample to the end of its last."""
    samples = read_eval_log_sample_summaries(log)
    # ISO times of one time zone sort as text.
    started = min(sample.started_at for sample in samples if sample.started_at)
    completed = max(sample.completed_at for sample in samples if sample.completed_at)
    return (datetime.fromisoformat(completed) - datetime.fromisoformat(started)).total_seconds()


def _run(task: Task, model: Model, folder: str) -> EvalLog:
    return succeed(task, folder, model, log_level="error", max_connections=CONNECTIONS)


def local_model(url: str, provider: str = "lean") -> Model:
    """Return a model behind the local server."""
    return support_model(url, f"{provider}/local/critic")


@contextmanager
def server_process(*options: str) -> Iterator[str]:
    """Run the local server in its own process, apart from the measured run; yield its URL."""
    command = [sys.executable, "-m", "tests.support.openai_server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None  # noqa: S101 (for the type checker)
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
