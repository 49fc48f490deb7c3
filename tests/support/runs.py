"""Quiet runs of tasks, models behind the local server, and the metrics of a log."""

from pathlib import Path
from typing import Any

from inspect_ai import Task, eval as run_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, get_model

from misstep.reports import read_run, result_metrics
from tests.support.openai_server import OpenAIServer


def run_task(
    task: Task | str, log_dir: Path | str, model: str | Model = "mockllm/model", **options: Any
) -> EvalLog:
    """Run a task without a display and return its log, whatever its status."""
    settings = {"log_dir": str(log_dir), "display": "log", "log_realtime": False, **options}
    [log] = run_eval(task, model=model, **settings)
    return log


def succeed(task: Task | str, log_dir: Path | str, *arguments: Any, **options: Any) -> EvalLog:
    """Run a task like `run_task`.

    Raises:
        RuntimeError: The run did not succeed.
    """
    log = run_task(task, log_dir, *arguments, **options)
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else f"the run ended as {log.status}")
    return log


def local_model(server: OpenAIServer | str, name: str = "openai-api/local/critic") -> Model:
    """Return a model behind the local server, given as such or as its URL."""
    url = server if isinstance(server, str) else server.url
    # Inspect caches models by name, but the next server has another address.
    return get_model(name, base_url=url, api_key="x", memoize=False)


def metrics_of(log: EvalLog, scorer: str = "first_error") -> dict[str, float]:
    """Return the metrics of a scorer in a log's results, by name."""
    assert log.results is not None
    return result_metrics(log.results)[scorer]


def table_of(log: EvalLog, scorer: str = "first_error") -> dict[str, float]:
    """Return every metric of a scorer, computed from a log's samples."""
    return read_run(log.location).metrics[scorer]
