"""The runs of a sweep: their names, how far each is, and running what is left."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from misstep.loaders import folder_lock
from misstep.registry import DataError
from misstep.runs._command import EvalCommand
from misstep.runs._jobs import Executor, Job
from misstep.runs._split_run import SplitRun, best_log
from misstep.runs._sweep_file import Sweep, SweepEval, SweepModel


@dataclass(frozen=True)
class SweepRun:
    """One model on one eval, with one set of arguments."""

    eval: SweepEval
    model: SweepModel
    args: dict[str, Any]
    seed: int | None
    command: EvalCommand
    log_dir: str

    @property
    def name(self) -> str:
        """The name of the run's log: readable, and different if the results can differ."""
        varied = [f"{name}-{self.args[name]}" for name in self.eval.each]
        seeded = [] if self.seed is None else [f"seed-{self.seed}"]
        digest = self.command.digest[:8]
        words = [self.eval.eval.rpartition("/")[2], self.label, *varied, *seeded, digest]
        return "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", word) for word in words)

    @property
    def label(self) -> str:
        """The name of the model."""
        return self.model.name or self.model.model

    @property
    def folder(self) -> str:
        """The folder of the run's shards, or of its eval set."""
        folder = f"{self.log_dir.rstrip('/')}/{self.name}"
        return f"{folder}.shards" if self.eval.shards > 1 else folder

    def jobs(self) -> list[Job]:
        """Return what is left to do; plan the run if it is new."""
        job = Job(self.folder, model=self.label, cpus=self.model.cpus, gpus=self.model.gpus)
        if self.eval.shards == 1:
            self.command.check_no_key()
            return [replace(job, command=self.command)]
        try:
            run = SplitRun.open(self.folder)
            run.replace_command(self.command)
        except DataError:
            run = SplitRun.create(self.command, self.eval.shards, self.log_dir, self.name)
        return [replace(job, shard=shard.index) for shard in run.unfinished()]

    def progress(self) -> "RunProgress":
        """Return how far the run is, from the files of its folder."""
        if self.eval.shards == 1:
            log = best_log(self.folder)
            done = log is not None and log.status == "success"
            return RunProgress(self, int(done), 1, log.location if log and done else None)
        try:
            run = SplitRun.open(self.folder)
        except DataError:
            return RunProgress(self, 0, self.eval.shards)
        count = len(run.shards)
        if run.joined:
            return RunProgress(self, count, count, run.location)
        return RunProgress(self, count - len(run.unfinished()), count)


@dataclass
class RunProgress:
    """How far a run of a sweep is."""

    run: SweepRun
    done: int
    """How many shards are done."""
    shards: int
    log: str | None = None
    """The finished log."""
    problem: str | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.log is not None


def sweep_runs(sweep: Sweep) -> list[SweepRun]:
    """Return all runs of a sweep: every model on the first eval, then on the second."""
    seeds: list[int | None] = [*sweep.seeds] or [None]
    return [
        SweepRun(eval, model, args, seed, _command(sweep, eval, model, args, seed), sweep.log_dir)
        for eval in sweep.evals
        for args in _combinations(eval)
        for model in sweep.models
        for seed in seeds
    ]


def run_sweep(
    runs: Sequence[SweepRun], execute: Executor, report: Callable[[RunProgress], None]
) -> list[RunProgress]:
    """Run what is missing or failed, and join each run's log when its last shard is done.

    A run that fails, or that another sweep is running, never stops the others. `report` is called
    whenever a job ends. Returns the progress of every run, with its problem if it has one.
    """
    with ExitStack() as locks:
        return _run_sweep(runs, execute, report, locks)


def _run_sweep(
    runs: Sequence[SweepRun],
    execute: Executor,
    report: Callable[[RunProgress], None],
    locks: ExitStack,
) -> list[RunProgress]:
    problems: dict[str, list[str]] = {}
    waiting: Counter[str] = Counter()

    def progress(run: SweepRun) -> RunProgress:
        try:
            return run.progress()
        except Exception as error:
            # A shard that still runs may be writing its log, which cannot be read then.
            if not waiting[run.folder]:
                problems[run.folder] = [f"cannot be read: {error}"]
            return RunProgress(run, 0, run.eval.shards)

    states = {run.folder: progress(run) for run in runs}
    jobs: list[Job] = []
    for folder, state in list(states.items()):
        if not state.finished and folder not in problems:
            try:
                locks.enter_context(folder_lock(folder))
                # Another sweep may have finished it in the meantime.
                states[folder] = progress(state.run)
                jobs += [] if states[folder].finished else state.run.jobs()
            except Exception as error:
                problems[folder] = [str(error)]
    waiting.update(job.folder for job in jobs)

    def settle(run: SweepRun) -> None:
        try:
            if run.eval.shards > 1 and not waiting[run.folder] and run.folder not in problems:
                SplitRun.open(run.folder).join()
        except Exception as error:
            problems[run.folder] = [str(error)]
        states[run.folder] = state = progress(run)
        state.problem = "\n".join(problems.get(run.folder, [])) or None
        report(state)

    for folder, state in list(states.items()):
        if not state.finished and not waiting[folder]:
            settle(state.run)
    for job, problem in execute(jobs):
        waiting[job.folder] -= 1
        if problem is not None:
            name = "" if job.shard is None else f"shard {job.shard} "
            problems.setdefault(job.folder, []).append(f"{name}{problem}")
        settle(states[job.folder].run)
    return [states[run.folder] for run in runs]


def _combinations(eval: SweepEval) -> Iterator[dict[str, Any]]:
    for values in product(*eval.each.values()):
        yield {**eval.args, **dict(zip(eval.each, values, strict=True))}


def _command(
    sweep: Sweep, eval: SweepEval, model: SweepModel, args: dict[str, Any], seed: int | None
) -> EvalCommand:
    generate = sweep.generate_config if seed is None else {**sweep.generate_config, "seed": seed}
    described = model.model_dump(include={"model", "base_url", "args", "config"})
    config = {
        "model": {name: value for name, value in described.items() if value},
        "model_roles": {
            role: {"model": entry} if isinstance(entry, str) else entry
            for role, entry in model.roles.items()
        },
        "generate_config": generate,
        "eval_config": sweep.eval_config,
        "tags": sweep.tags,
    }
    return EvalCommand(
        eval=eval.eval,
        task_args=args,
        config={name: value for name, value in config.items() if value},
        limit=None if eval.limit is None else (0, eval.limit),
    )
