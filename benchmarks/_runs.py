"""Running tasks through Inspect, quietly and without leaving logs behind."""

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries
from inspect_ai.model import Model, get_model

from misstep.evals.processbench import processbench

CONNECTIONS = 64
ROOT = Path(__file__).parents[1]


def run(task: Task, model: Model) -> None:
    """Run a task to its end."""
    with tempfile.TemporaryDirectory() as folder:
        _run(task, model, folder)


def seconds(task: Task, model: Model) -> float:
    """Run a task; the time that its samples took."""
    with tempfile.TemporaryDirectory() as folder:
        return span(_run(task, model, folder).location)


def span(log: str) -> float:
    """The time from the first sample's start to the last one's end."""
    samples = read_eval_log_sample_summaries(log)
    # ISO texts of one time zone: their order is that of the times.
    started = min(sample.started_at for sample in samples if sample.started_at)
    completed = max(sample.completed_at for sample in samples if sample.completed_at)
    return (datetime.fromisoformat(completed) - datetime.fromisoformat(started)).total_seconds()


def _run(task: Task, model: Model, folder: str) -> EvalLog:
    """The log of a run that succeeded; its samples are read from the folder when needed.

    Raises:
        RuntimeError: The run did not succeed.
    """
    [log] = evaluate(
        task,
        model=model,
        log_dir=folder,
        # Any other lays out a table of all figures at the end of a run, however short.
        display="log",
        log_level="error",
        log_realtime=False,
        max_connections=CONNECTIONS,
    )
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else f"the run ended as {log.status}")
    return log


def lacking(*options: str) -> str:
    """A note on the options that ProcessBench does not take; empty if it takes them all."""
    missing = set(options) - set(inspect.signature(processbench).parameters)
    return f"the task does not take {', '.join(sorted(missing))}" if missing else ""


def local_model(url: str, provider: str = "lean") -> Model:
    """A model behind the local server."""
    return get_model(f"{provider}/local/critic", base_url=url, api_key="x", memoize=False)


@contextmanager
def server_process(*options: str) -> Iterator[str]:
    """The local server in a process of its own, so that it takes no time from the run's."""
    command = [sys.executable, "-m", "tests.support.openai_server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None  # noqa: S101 (for the type checker)
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
