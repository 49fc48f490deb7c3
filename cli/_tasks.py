"""Making the tasks that other commands look at before a run."""

from collections.abc import Iterator
from typing import Any

from inspect_ai import Task
from inspect_ai.util import registry_create

from misstep.registry import MisstepError, Size, UnknownNameError, evals


def eval_names() -> Iterator[str]:
    """Every eval and variant."""
    for name, entry in evals().items():
        yield name
        yield from (f"{name}.{variant}" for variant in entry.variants)


def size_of(name: str) -> Size:
    """What the registry says that an eval or a variant takes at its default settings."""
    known: dict[str, Size] = {}
    for base, entry in evals().items():
        known[base] = entry.size
        known |= {f"{base}.{variant}": facts.size for variant, facts in entry.variants.items()}
    return known[name.removeprefix("misstep/")]


def load_task(name: str, arguments: dict[str, Any]) -> Task:
    """Make a task by its name, with or without `misstep/`.

    Raises:
        MisstepError: There is no such task, or it does not take such arguments.
    """
    import misstep.registry.entry_point  # noqa: F401 (all tasks are registered there)

    plain = name.removeprefix("misstep/")
    known = list(eval_names())
    if plain not in known:
        raise UnknownNameError("eval", name, known)
    try:
        task: Task = registry_create("task", f"misstep/{plain}", **arguments)
    except TypeError as problem:
        raise MisstepError(f"{name}: {problem}.") from None
    return task
