"""Work that several processes share."""

import gc
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

_MANY_BYTES = 40 << 20
"""Logs that are larger in total are read by several processes. To start them takes two seconds."""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: it takes a third of the time and finds nothing here."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def in_processes(
    work: Callable[[A], B],
    jobs: Sequence[A],
    large: bool,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[B]:
    """Return the results of some work on each job, in order; processes share large work.

    Processes begin at once. `meanwhile` is called only if there are processes.
    """
    count = min(os.cpu_count() or 1, len(jobs))
    if count < 2 or not large:
        return map(work, jobs)
    method = "forkserver" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["misstep.reports"])
    pool = ProcessPoolExecutor(count, context)
    try:
        results = pool.map(work, jobs)
        if meanwhile is not None:
            meanwhile()
        return results
    finally:
        pool.shutdown(wait=False)


def are_large(locations: Iterable[str]) -> bool:
    """Whether logs are so large that several processes should read them."""
    return sum(map(_local_size, locations)) >= _MANY_BYTES


def _local_size(location: str) -> int:
    place = Path(location.removeprefix("file://"))
    return place.stat().st_size if place.is_file() else 0
