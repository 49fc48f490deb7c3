"""Who runs the shards: one small interface, and processes on this machine behind it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from misstep.runs import Workers
from misstep.runs._run_shard import run_shard


@dataclass(frozen=True)
class Job:
    """One shard to run, and what it needs."""

    folder: str
    """The split run's folder."""
    shard: int
    cpus: float = 1
    gpus: float = 0


Executor: TypeAlias = Callable[[Sequence[Job]], Iterator[tuple[Job, str | None]]]
"""Runs jobs, and gives each when it ends, with the problem that it ended in, if any."""


def local_processes(count: int, workers: Workers | None = None) -> Executor:
    """Run jobs in processes on this machine, so many at once.

    Args:
        count: How many.
        workers: Who runs them, if they were started before; they are left open.
    """

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        with (
            nullcontext(workers) if workers else Workers() as team,
            ThreadPoolExecutor(count) as pool,
        ):
            tasks = {pool.submit(run_shard, job.folder, job.shard, team): job for job in jobs}
            try:
                for task in as_completed(tasks):
                    yield tasks[task], task.result()
            finally:
                pool.shutdown(cancel_futures=True)

    return run
