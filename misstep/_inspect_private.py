"""Every private name of Inspect that misstep uses. No other module imports one.

Inspect has no public name for these. Each entry says what it is for, and what happens if a later
release of Inspect moves it. `make canary` runs the tests against the newest release.

Names that are slow to import are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Errors that Inspect prints as one message, without a traceback. Base class of MisstepError.
from inspect_ai._util.error import PrerequisiteError

# Ends a sample on purpose. Code that catches a failed call must let it pass.
from inspect_ai._util.exception import TerminateSampleError

# The sample that is running. `replay/…` finds the recorded output by its id.
from inspect_ai.log._samples import sample_active

# The generate config in force. Votes count their seeds from the seed of the run.
from inspect_ai.model._generate_config import active_generate_config

# What `should_retry` returns to pass on the wait that a server asks for.
from inspect_ai.model._model import RetryDecision

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import GenerateConfig, Model

    # The error for a failure that a server reports inside a successful response.
    from inspect_ai.model._openai import OpenAIResponseError

    # The provider class for OpenAI-compatible services, the base of `lean/…`.
    from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI

__all__ = [
    "OpenAICompatibleAPI",
    "OpenAIResponseError",
    "PrerequisiteError",
    "RetryDecision",
    "TerminateSampleError",
    "active_generate_config",
    "classify_http_retry",
    "load_tasks",
    "running_task",
    "sample_active",
    "set_active_models",
]


_SLOW_TO_IMPORT = {
    "OpenAICompatibleAPI": "inspect_ai.model._providers.openai_compatible",
    "OpenAIResponseError": "inspect_ai.model._openai",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a name that is slow to import when it is first used."""
    if name in _SLOW_TO_IMPORT:
        return getattr(import_module(_SLOW_TO_IMPORT[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def classify_http_retry(error: BaseException) -> RetryDecision | bool:
    """Return how Inspect retries an HTTP error, or False if it does not."""
    from inspect_ai._util.httpx import httpx_classify_retry

    return httpx_classify_retry(error) or False


def running_task() -> object:
    """Return an object that is unique to the running task; a stream of samples is read per task."""
    from inspect_ai._eval.task.sample_source import get_sample_enqueuer

    return get_sample_enqueuer()


def load_tasks(name: str, arguments: dict[str, Any]) -> "list[Task]":
    """Load tasks by name or file, as `inspect eval` does."""
    from inspect_ai._eval.loader import load_tasks as load
    from inspect_ai._util.entrypoints import ensure_entry_points

    ensure_entry_points()
    return load([name], arguments)


def set_active_models(model: "Model", config: "GenerateConfig", roles: "dict[str, Model]") -> None:
    """Set the models that `get_model()` returns, outside of a run."""
    from inspect_ai.model._model import init_active_model, init_model_roles

    init_active_model(model, config)
    init_model_roles({**roles})
