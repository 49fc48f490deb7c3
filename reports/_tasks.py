"""Registered tasks by name: made to look at their samples, and their size in the registry."""

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, TypeVar

from inspect_ai import Task
from inspect_ai.util import registry_create

from misstep.registry import MisstepError, Size, UnknownEvalError, eval_names, evals, sizes

T = TypeVar("T")


def run_coroutine(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine. If the caller has an event loop, as notebooks do, run it in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def eval_sizes() -> Iterator[tuple[str, str, Size | None]]:
    """Yield each eval and variant: its name, its description, its size at default settings.

    A user's own variant may have no size.
    """
    known = sizes()
    for name, entry in evals().items():
        yield name, entry.description, known.get(name)
        for variant, facts in entry.variants.items():
            full = f"{name}.{variant}"
            yield full, facts.description, known.get(full)


def load_task(name: str, arguments: dict[str, Any]) -> Task:
    """Return a task by its name, with or without `misstep/`.

    The task is made in an empty context, because an eval set of Inspect leaves its model behind.
    """
    import misstep.registry.entry_point  # noqa: F401 (it registers all tasks)

    plain = name.removeprefix("misstep/")
    known = eval_names()
    if plain not in known:
        raise UnknownEvalError(name, known)

    def made() -> Task:
        return registry_create("task", f"misstep/{plain}", **arguments)

    try:
        return Context().run(made)
    except TypeError as problem:
        raise MisstepError(f"{name}: {problem}.") from None
