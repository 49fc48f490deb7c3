"""Task arguments, checked by the signature of the task: unknown names and wrong values."""

import inspect
import os
from collections.abc import Callable
from errno import EACCES
from functools import wraps
from inspect import Parameter
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, Union, get_args, get_origin

from click import get_current_context
from inspect_ai import Task
from inspect_ai.solver import TaskState
from pydantic import ConfigDict, TypeAdapter, ValidationError

from misstep._inspect_private import active_model
from misstep.registry._errors import MisstepError, UnknownNameError
from misstep.registry._run_end import print_at_end
from misstep.registry._user_input import user_path

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
