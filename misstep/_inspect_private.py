"""Every private name of Inspect that misstep uses. No other module imports one.

Inspect has no public name for these. Each entry says what the name is for, and what happens if a
later release of Inspect no longer has it. `make canary` runs the tests against the newest release.

Names that are slow to import are imported by functions, when they are first used.
"""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from importlib import import_module
from typing import TYPE_CHECKING, Any

from inspect_ai.model import GenerateConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai import Task
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.log._log import EvalScorer
    from inspect_ai.log._samples import sample_active
    from inspect_ai.model import Model
    from inspect_ai.model._generate_config import active_generate_config
    from inspect_ai.model._model import RetryDecision, active_model
    from inspect_ai.model._openai import OpenAIResponseError
    from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
    from inspect_ai.scorer import Scorer


class _PlainError(Exception):
    """The fallback for an error class of Inspect."""

    def __init__(self, message: object) -> None:
        super().__init__(message)
        self.message = message


class _PlainRetry:
    """The fallback for RetryDecision. `should_retry` may return a plain bool instead."""

    retry_after: float | None = None


def _private(module: str, name: str, fallback: object) -> Any:  # noqa: ANN401
    """Return a private name of Inspect, or the fallback if this release does not have it."""
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return fallback


if not TYPE_CHECKING:
    # The errors that Inspect prints as one message, without a traceback.
    # Without it: MisstepError is an ordinary exception, and Inspect prints a traceback.
    PrerequisiteError = _private("inspect_ai._util.error", "PrerequisiteError", _PlainError)

    # The sample that is running. `replay/…` and `offline/…` find their answer by its id.
    # Without it: no sample is found, and `replay/…` says so.
    sample_active = _private("inspect_ai.log._samples", "sample_active", lambda: None)

    # The generate config in force. Votes count their seeds from the seed of the run.
    # Without it: votes count from the default seed, and `--seed` does not change them.
    active_generate_config = _private(
        "inspect_ai.model._generate_config", "active_generate_config", GenerateConfig
    )

    # The model of the run that a task is made for. Reasoning models get more tokens by default.
    # Without it: the model is not known when a task is made, and all models get the same default.
    active_model = _private("inspect_ai.model._model", "active_model", lambda: None)

    # What `should_retry` returns, with the time that a server asks to wait.
    # Without it: waits double from half a second, whatever the server asks for.
    RetryDecision = _private("inspect_ai.model._model", "RetryDecision", _PlainRetry)


_SLOW_TO_IMPORT = {
    # The provider class for OpenAI-compatible services, the base of `lean/…`.
    # Without it: `lean/…` cannot be imported. `openai-api/…` does the same with more CPU time.
    "OpenAICompatibleAPI": "inspect_ai.model._providers.openai_compatible",
    # The error for a failure that a server reports inside a successful response.
    # Without it: `lean/…` cannot be imported.
    "OpenAIResponseError": "inspect_ai.model._openai",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a name that is slow to import when it is first used."""
    if name in _SLOW_TO_IMPORT:
        return getattr(import_module(_SLOW_TO_IMPORT[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def classify_http_retry(error: BaseException) -> "RetryDecision | bool":
    """Return how Inspect retries an HTTP error, or False if it does not.

    Without it: no HTTP error is retried, and each ends its sample.
    """
    classify = _private("inspect_ai._util.httpx", "httpx_classify_retry", lambda error: None)
    decision: RetryDecision | None = classify(error)
    return decision or False


def running_task() -> object:
    """Return an object that is unique to the running task, to which a sample stream belongs.

    Without it: all runs of one stream count as one, and a second run gets only the first samples.
    """
    return _private("inspect_ai._eval.task.sample_source", "get_sample_enqueuer", lambda: None)()


def load_tasks(name: str, arguments: dict[str, Any]) -> "list[Task]":
    """Load tasks by name or file, as `inspect eval` does.

    There is no fallback: `misstep run` counts the samples of a task before it splits them.
    """
    from inspect_ai._eval.loader import load_tasks as load
    from inspect_ai._util.entrypoints import ensure_entry_points

    ensure_entry_points()
    return load([name], arguments)


def set_active_models(model: "Model", config: GenerateConfig, roles: "dict[str, Model]") -> None:
    """Set the models that `get_model()` returns outside of a run.

    There is no fallback: `misstep estimate` calls solvers outside of a run.
    """
    from inspect_ai.model._model import init_active_model, init_model_roles

    init_active_model(model, config)
    init_model_roles({**roles})


def call_in_shared_session(function: Callable[[], None]) -> None:
    """Call a function that runs samples, inside one session for clients of agents.

    Inspect opens a session for each sample, to which an editor can attach, unless one is open
    already. Sessions take 7% of the CPU time of a run.
    Without it: each sample opens its own session.
    """
    open_session = _private("inspect_ai.agent._acp.transport", "acp_session", None)
    if open_session is None:
        return function()
    session, context = open_session(), copy_context()
    with asyncio.Runner() as runner:
        runner.run(session.__aenter__(), context=context)
        try:
            context.run(function)
        finally:
            runner.run(session.__aexit__(None, None, None), context=context)


def scorer_specs(scorers: "Sequence[Scorer]") -> "list[EvalScorer]":
    """Return scorers as the header of a log describes them: name, options, metrics.

    There is no fallback: `misstep import` builds logs without a run.
    """
    from inspect_ai._eval.task.log import resolve_eval_scorers
    from inspect_ai.scorer._scorer import as_scorer_spec

    return resolve_eval_scorers([as_scorer_spec(scorer) for scorer in scorers]) or []
