"""A sweep: its file, the names and the progress of its runs, and how the rest is run."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import fsspec
import yaml
from inspect_ai.log import EvalConfig
from inspect_ai.model import GenerateConfig
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from misstep.loaders import folder_lock
from misstep.registry import DataError, did_you_mean, parse_yaml, suites
from misstep.runs._command import EvalCommand
from misstep.runs._jobs import Executor, Job
from misstep.runs._split_run import SplitRun, best_log

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _named(field: str) -> BeforeValidator:
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


def _fields_of(settings: type[BaseModel]) -> BeforeValidator:
    def check(value: object) -> object:
        known = settings.model_fields
        for name in value if isinstance(value, dict) else ():
            if name not in known:
                raise ValueError(f"'{name}' is not a setting.{did_you_mean(str(name), known)}")
        settings.model_validate(value)
        return value

    return BeforeValidator(check)


GenerateSettings = Annotated[dict[str, Any], _fields_of(GenerateConfig)]
EvalSettings = Annotated[dict[str, Any], _fields_of(EvalConfig)]


class SweepEval(_Strict):
    """An eval or variant, and its arguments."""

    eval: str
    """As `inspect eval` takes it: misstep/processbench.sample, or a file."""
    args: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    """Several values for some arguments: one run for each combination."""
    limit: Annotated[int, Field(gt=0)] | None = None
    shards: Annotated[int, Field(gt=0)] = 1
    """Into how many parts a run is split, each for one worker."""


class SweepModel(_Strict):
    """A model, its settings, and what a worker needs to run it."""

    model: str
    name: str | None = None
    """A name of its own, if several entries have the same model."""
    base_url: str | None = None
    args: dict[str, Any] = {}
    config: GenerateSettings = {}
    roles: dict[str, Any] = {}
    """Models in other roles, such as `reward`."""
    cpus: Annotated[float, Field(ge=0)] = 1
    gpus: Annotated[float, Field(ge=0)] = 0


class Sweep(_Strict):
    """The content of a sweep file."""

    log_dir: str
    """Where the logs go: a folder, or any address that fsspec reads."""
    evals: Annotated[list[Annotated[SweepEval, _named("eval")]], Field(min_length=1)]
    models: Annotated[list[Annotated[SweepModel, _named("model")]], Field(min_length=1)]
    seeds: list[int] = []
    """Seeds of generation: one run for each."""
    generate_config: GenerateSettings = {}
    eval_config: EvalSettings = {}
    tags: list[str] = []
    pass_env: list[str] = []
    """Names of environment variables that workers on other machines get, such as API keys."""
    report: str | None = None
    """A page on all runs, written into log_dir when they end. Their estimate is printed before."""

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if "limit" in self.eval_config:
            raise ValueError("eval_config.limit: set `limit` for each eval")
        names = [model.name or model.model for model in self.models]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise ValueError(f"two models are called '{double}'; give one of them another name")
        return self


def read_sweep(
    path: str,
    models: Sequence[str] = (),
    base_url: str | None = None,
    log_dir: str | None = None,
    limit: int | None = None,
) -> Sweep:
    """Read a sweep file, or the suite with this name.

    The other arguments replace what the file has: its models, their address, the folder of logs,
    and the limit of every eval.
    """
    file = Path(path)
    if not file.exists() and path in suites():
        file = suites()[path].path
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        known = f" Suites: {', '.join(suites())}." if file.suffix == "" else ""
        raise DataError(f"cannot read the sweep file {path}: {error}.{known}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} is not a sweep: it must have evals, models and a log_dir")
    if models:
        content["models"] = [
            {"model": model} | ({"base_url": base_url} if base_url else {}) for model in models
        ]
    if log_dir:
        content["log_dir"] = log_dir
    if limit:
        evals = [{"eval": one} if isinstance(one, str) else one for one in content["evals"]]
        content["evals"] = [{**one, "limit": limit} for one in evals]
    if "models" not in content:
        raise DataError(f"{path}: it names no model. Give one: --model openai/gpt-4o-mini")
    try:
        return Sweep.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(_message(problem) for problem in error.errors())
        raise DataError(f"{path}: {problems}") from None


_FIELDS = {"evals": SweepEval.model_fields, "models": SweepModel.model_fields}


def _message(problem: "ErrorDetails") -> str:
    place = [str(part) for part in problem["loc"]]
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        known = Sweep.model_fields if len(place) == 1 else _FIELDS[place[0]]
        message = f"unknown.{did_you_mean(place[-1], known)}"
    return f"{'.'.join(place)}: {message}" if place else message


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
        shards = self.eval.shards
        if (log := self._finished_log()) is not None:
            return RunProgress(self, shards, shards, log)
        if shards == 1:
            return RunProgress(self, 0, 1)
        try:
            run = SplitRun.open(self.folder)
        except DataError:
            return RunProgress(self, 0, shards)
        count = len(run.shards)
        return RunProgress(self, count - len(run.unfinished()), count)

    def _finished_log(self) -> str | None:
        """Return the run's finished log, however many shards the run had."""
        place = self.folder.removesuffix(".shards")
        log = best_log(place)
        if log is not None and log.status == "success":
            return log.location
        joined = f"{place}.eval"
        system, path = fsspec.url_to_fs(joined)
        return joined if system.exists(path) else None


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
