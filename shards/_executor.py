"""Who runs the shards: one small interface, and processes on this machine behind it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TypeAlias

from misstep.shards._run_shard import run_shard
from misstep.workers import Worker


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


def local_processes(count: int, ready: Sequence[Worker] = ()) -> Executor:
    """Run jobs in processes on this machine, so many at once.

    Args:
        count: How many.
        ready: Workers that were started before.
    """
    # One for each of the first jobs; those after them start their own.
    workers = chain(ready, repeat(None))

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        with ThreadPoolExecutor(count) as pool:
            tasks = {
                pool.submit(run_shard, job.folder, job.shard, worker=worker): job
                for job, worker in zip(jobs, workers, strict=False)
            }
            try:
                for task in as_completed(tasks):
                    yield tasks[task], task.result()
            finally:
                pool.shutdown(cancel_futures=True)

    return run
