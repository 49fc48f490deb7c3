"""What every task of misstep has: checked arguments, and warnings at the end of its run.

The signature of a task says which arguments it takes: unknown names and wrong values are refused.
At its end, a run warns where its number would mislead, and says where to see more.
"""

import inspect
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from errno import EACCES
from functools import cache, partial, wraps
from inspect import Parameter
from math import isnan
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Union, get_args, get_origin

from click import get_current_context
from inspect_ai import Task
from inspect_ai.solver import TaskState
from pydantic import ConfigDict, TypeAdapter, ValidationError

from misstep._inspect_private import active_model
from misstep.registry._user_input import MisstepError, UnknownNameError, user_path
from misstep.registry._variants import evals

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog


MOST_TRUNCATED = 0.05
MOST_UNREAD = 0.2
UNREAD_METRICS = ("truncated", "unparsed", "empty", "refused", "unanswered")
"""Metrics that are shares of replies without a result, by cause."""
_SILENT = ("none", "log")
"""Displays under which a run prints nothing at its end."""


def cautions(metrics: Mapping[str, float], failed: int, total: int) -> Iterator[str]:
    """Yield a sentence for each reason why the number of a run would mislead.

    Args:
        metrics: The metrics of the headline's scorer.
        failed: The number of samples that ended in an error.
        total: The number of all samples.
    """
    known = {name: value for name, value in metrics.items() if not isnan(value)}
    truncated = known.get("truncated", 0.0)
    unread = sum(known.get(name, 0.0) for name in UNREAD_METRICS)
    if truncated > MOST_TRUNCATED:
        yield (
            f"{truncated:.1%} of the replies were cut off at the token limit. They count as wrong. "
            "Raise --max-tokens."
        )
    if unread > MOST_UNREAD:
        yield (
            f"{unread:.1%} of the replies gave no result that can be read. They count as wrong. "
            "Look at some of them: inspect view"
        )
    for name, rows in (("error_count", "No row has"), ("correct_count", "Every row has")):
        if known.get(name) == 0 and total > failed:
            yield (
                f"{rows} an error, so F1 is undefined. Use more rows, or draw them from the "
                "whole set: --sample-shuffle 42"
            )
    if failed:
        yield (
            f"{failed:,} of {total:,} samples failed. They are left out of the numbers. Repeat "
            "them: inspect eval-retry"
        )


def print_at_end() -> None:
    """Make runs of this process print their warnings and the command that shows their results.

    It is called when Inspect makes a task for a run, or in the run if the task was made before.
    Inspect would announce a hook that is registered earlier, in every run of every package.
    """
    from inspect_ai.util import display_type

    # Inspect calls every hook for every event of every sample, so it is added only if needed.
    if display_type() not in _SILENT:
        _add_hook()


@cache
def _add_hook() -> None:
    from inspect_ai.hooks import Hooks, RunEnd, hooks

    @hooks(name="run_end", description="Says where a run of misstep shows its results.")
    class PrintAtEnd(Hooks):
        async def on_run_end(self, data: RunEnd) -> None:
            logs = [log for log in data.logs if _is_own(log) and log.results]
            command = get_current_context(silent=True)
            if command is None:
                _print(logs)
            else:
                # The command prints a table of results after the run. This is printed below it.
                command.find_root().call_on_close(partial(_print, logs))


def _is_own(log: "EvalLog") -> bool:
    return log.eval.task.rpartition("/")[2].partition(".")[0] in evals()


def _print(logs: "list[EvalLog]") -> None:
    from inspect_ai.util import display_type
    from rich.console import Console

    if not logs or display_type() in _SILENT:
        return
    console = Console()
    console.print()
    for log in logs:
        for caution in log_cautions(log):
            console.print(f"Warning: {caution}", style="yellow", highlight=False)
    places = shlex.join(_shown(log.location) for log in logs)
    console.print(f"Results at a glance: misstep show {places}", markup=False, soft_wrap=True)


def _shown(location: str) -> str:
    """Return the place of a log as a user would type it."""
    place = location.removeprefix("file://")
    here = f"{Path.cwd()}{os.sep}"
    return place.removeprefix(here)


def log_cautions(log: "EvalLog") -> list[str]:
    """Return the reasons why the headline of a log would mislead."""
    results, headline = log.results, log.eval.headline_metric
    if results is None:
        return []
    scores = [score for score in results.scores if score.metrics]
    own = [score for score in scores if headline and score.name == headline.scorer]
    metrics: dict[str, float] = {}
    for score in own or scores[:1]:
        metrics |= {name: float(metric.value) for name, metric in score.metrics.items()}
    failed = results.total_samples - results.completed_samples
    return list(cautions(metrics, failed, results.total_samples))


P = ParamSpec("P")

_CONFIG = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True)
_WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    list: "a list such as a,b",
}


def check_arguments(base: Callable[P, Task]) -> Callable[P, Task]:
    """Return a task that refuses unknown arguments and wrong values with one message.

    Write it under `@task`. Inspect itself drops an unknown `-T` name with a warning, unless the
    task takes any name. So the signature gets `**unknown`, and this function refuses the names.
    """
    own = inspect.signature(base)
    known = own.parameters

    @wraps(base)
    def checked(*args: P.args, **arguments: P.kwargs) -> Task:
        for name in arguments:
            if name not in known:
                raise UnknownNameError("task argument", name, known)
        in_run = active_model() is not None
        if in_run:
            print_at_end()
        given = own.bind(*args, **arguments)
        for name, value in given.arguments.items():
            given.arguments[name] = _checked(known[name], value)
        made = base(*given.args, **given.kwargs)
        if not in_run and made.cleanup is None:
            # The task was made in Python, before its run. Inspect calls this after each sample.
            made.cleanup = _print_at_end
        _check_log_folder()
        return made

    unknown = Parameter("unknown", Parameter.VAR_KEYWORD)
    signature = inspect.Signature([*known.values(), unknown], return_annotation=Task)
    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


async def _print_at_end(state: TaskState) -> None:
    print_at_end()


def _check_log_folder() -> None:
    """Raise an error if `inspect eval` is to write its log to a folder that cannot be made.

    Inspect itself ends in a traceback.
    """
    context = get_current_context(silent=True)
    if context is None or context.find_root().info_name != "inspect":
        return
    folder = context.params.get("log_dir")
    if not isinstance(folder, str) or "://" in folder:
        return
    try:
        place = user_path(folder)
        place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except OSError as problem:
        raise MisstepError(
            f"--log-dir {folder}: cannot be written ({problem.strerror}). Choose another folder."
        ) from None


def _checked(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401
    """Return a value as the type of its parameter, or raise an error that says what is allowed."""
    wanted = parameter.annotation
    if wanted is Parameter.empty:
        return value
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    choices = [one for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]
    try:
        # Without this, true would be the number 1.
        if isinstance(value, bool) and not {bool, str} & set(kinds):
            raise TypeError
        return TypeAdapter(wanted, config=_CONFIG).validate_python(value)
    except (ValidationError, TypeError):
        if choices:
            raise UnknownNameError(parameter.name, value, choices) from None
        words = [_WORDS.get(get_origin(kind) or kind) for kind in kinds if kind is not NoneType]
        allowed = " or ".join(word for word in words if word)
        shown = ",".join(map(str, value)) if isinstance(value, list) else value
        raise MisstepError(f"{parameter.name}={shown}: expected {allowed}.") from None
