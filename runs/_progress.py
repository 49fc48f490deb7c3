"""How far a sweep has come, and bringing it forward."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import fsspec
from inspect_ai.log import read_eval_log

from misstep.registry import DataError
from misstep.runs import Executor, SplitRun
from misstep.runs._sweep_runs import Run


@dataclass(frozen=True)
class Progress:
    """How far one run has come."""

    run: Run
    done: int
    """Shards that are done."""
    shards: int
    joined: str | None = None
    """The joined log, where there is one."""
    problem: str | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.joined is not None


def progress(run: Run) -> Progress:
    """How far a run has come, by what is on disk."""
    try:
        split = SplitRun.open(run.folder)
    except DataError:
        return Progress(run, 0, run.eval.shards)
    joined = split.location if _succeeded(split.location) else None
    count = len(split.shards)
    return Progress(run, count if joined else count - len(split.left()), count, joined)


def advance(
    runs: Sequence[Run], execute: Executor, told: Callable[[Progress], None]
) -> list[Progress]:
    """Run what is missing or failed, and join each run's log as soon as its last shard is done.

    Args:
        runs: The runs of a sweep; those that are finished are left as they are.
        execute: Who runs the shards.
        told: Called with each run's progress when a shard of it ends.

    Returns:
        How far every run has come, in order, each with its problem if it has one.
    """
    states = {run.folder: progress(run) for run in runs}
    problems: dict[str, list[str]] = {}
    open_runs = {run.folder: run for run in runs if not states[run.folder].finished}
    jobs = [run.job(shard.index) for run in open_runs.values() for shard in run.planned().left()]
    waiting = Counter(dict.fromkeys(open_runs, 0))
    waiting.update(job.folder for job in jobs)

    def settle(folder: str) -> None:
        if waiting[folder] == 0 and folder not in problems:
            SplitRun.open(folder).join()
        problem = "\n".join(problems.get(folder, [])) or None
        states[folder] = replace(progress(open_runs[folder]), problem=problem)
        told(states[folder])

    for folder in [folder for folder in open_runs if waiting[folder] == 0]:
        settle(folder)
    for job, problem in execute(jobs):
        waiting[job.folder] -= 1
        if problem is not None:
            problems.setdefault(job.folder, []).append(f"shard {job.shard} {problem}")
        settle(job.folder)
    return [states[run.folder] for run in runs]


def _succeeded(location: str) -> bool:
    filesystem, path = fsspec.core.url_to_fs(location)
    return filesystem.exists(path) and read_eval_log(location, header_only=True).status == "success"
