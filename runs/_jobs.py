"""Jobs for workers, and who runs them: processes on this machine, or a Ray cluster.

A job is a shard of a split run, or a whole run as an eval set of Inspect, which resumes it and
repeats it if it fails.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import yaml
from inspect_ai import Epochs, eval_set
from inspect_ai.log import EvalConfig
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.util import TokenLimit

from misstep._inspect_private import PrerequisiteError
from misstep.plain_text import without_markup
from misstep.registry import MisstepError
from misstep.runs._command import EvalCommand
from misstep.runs._split_run import SplitRun, best_log
from misstep.runs._workers import MISTAKE, run_command, run_in_worker
from misstep.scratch import scratch_folder

_ATTEMPTS = 3
"""How often a run that failed is repeated."""


def run_eval_set(command: EvalCommand, log_dir: str) -> None:
    """Start or resume a command of a sweep, and exit with a status."""
    try:
        success = _succeeds(command, log_dir)
    except PrerequisiteError as error:
        # Inspect's message does not name the eval.
        raise MisstepError(f"{command.eval}: {without_markup(str(error.message))}") from None
    sys.exit(0 if success else 1)


def _succeeds(command: EvalCommand, log_dir: str) -> bool:
    config = command.config
    model = config["model"]
    start, stop = command.limit or (0, None)
    success, _ = eval_set(
        command.eval,
        log_dir,
        task_args=command.task_args,
        model=model["model"],
        model_base_url=model.get("base_url"),
        model_args=model.get("args", {}),
        model_roles={
            role: [_model(**one) for one in entry] if isinstance(entry, list) else _model(**entry)
            for role, entry in config.get("model_roles", {}).items()
        },
        # Samples that are generated while the eval runs have no range.
        limit=stop if start == 0 else command.limit,
        tags=config.get("tags"),
        retry_attempts=_ATTEMPTS,
        # Logs of an older version of the task may be there. They are not resumed.
        log_dir_allow_dirty=True,
        display="log",
        **{"score_display": False, **_eval_settings(config.get("eval_config", {}))},
        # As in a run configuration of Inspect, general settings override those of a model.
        **{**model.get("config", {}), **config.get("generate_config", {})},
    )
    return success


def _model(
    model: str,
    base_url: str | None = None,
    config: dict[str, Any] | None = None,
    args: dict[str, Any] | None = None,
) -> Model:
    settings = GenerateConfig.model_validate(config or {})
    return get_model(model, base_url=base_url, config=settings, memoize=False, **(args or {}))


def _eval_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Return settings as arguments of `eval_set`, which takes some of them together."""
    checked = EvalConfig.model_validate(config)
    settings = {name: getattr(checked, name) for name in config}
    reducers = settings.pop("epochs_reducer", None)
    if reducers is not None:
        settings["epochs"] = Epochs(checked.epochs or 1, reducers)
    kind = settings.pop("token_limit_type", None)
    if kind is not None and checked.token_limit is not None:
        settings["token_limit"] = TokenLimit(tokens=checked.token_limit, type=kind)
    return settings


_RETRIES = 3
"""How often Ray repeats a job whose node died; the job resumes from its log."""


@dataclass(frozen=True)
class Job:
    """A piece of work for one worker: a shard of a split run, or a whole run as an eval set."""

    folder: str
    """The folder of the split run, or of the eval set."""
    shard: int | None = None
    """Which shard; None for an eval set."""
    command: EvalCommand | None = None
    """What an eval set runs."""
    model: str = ""
    """Jobs of one model share its connections."""
    cpus: float = 1
    gpus: float = 0


Executor: TypeAlias = Callable[[Sequence[Job]], Iterator[tuple[Job, str | None]]]
"""Runs jobs, and yields each when it ends, with its problem or None."""


def run_job(job: Job, workers: int = 1, env: Mapping[str, str] | None = None) -> str | None:
    """Start or resume a job unless it is done; return its problem with the output, or None.

    `workers` is how many share the connections of its model. `env` is added to the environment.
    """
    if job.command is not None:
        folder = job.folder
        command = job.command.shared_among(workers)
        status, output = run_in_worker(run_eval_set, command, folder, env=env)
    else:
        folder = f"{job.folder}/{job.shard}"
        run = SplitRun.open(job.folder)
        command = run.command.shared_among(workers)
        with scratch_folder() as scratch:
            config = scratch / "config.yaml"
            config.write_text(yaml.safe_dump(command.config), encoding="utf-8")
            arguments = run.next_arguments(run.shards[job.shard or 0], command, str(config))
            if arguments is None:
                return None
            status, output = run_in_worker(run_command, arguments, env=env)
    log = best_log(folder)
    if log is not None and log.status == "success":
        return None
    if status == MISTAKE:
        return f"stopped: {output}"
    return f"ended with status {status} and no finished log:\n{output}"


def local_processes(count: int) -> Executor:
    """Return an executor that runs jobs in this many processes on this machine."""

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        sharing = Counter(job.model for job in jobs)
        with ThreadPoolExecutor(count) as pool:
            futures = {
                pool.submit(run_job, job, min(count, sharing[job.model])): job for job in jobs
            }
            try:
                for future in as_completed(futures):
                    yield futures[future], _problem(future.result)
            finally:
                pool.shutdown(cancel_futures=True)

    return run


def ray_cluster(address: str | None = None, pass_env: Sequence[str] = ()) -> Executor:
    """Return an executor that runs jobs as tasks of a Ray cluster.

    Without an address, one is started on this machine. `pass_env` names environment variables
    that workers get from here.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise MisstepError(
            "Ray is not installed. Install it: pip install 'misstep[cluster]'; "
            "without it, sweeps run in processes on this machine."
        ) from None
    missing = [name for name in pass_env if name not in os.environ]
    if missing:
        raise MisstepError(f"pass_env names {', '.join(missing)}, which is not set here")
    env = {name: os.environ[name] for name in pass_env}

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        try:
            ray.init(address=address, log_to_driver=False, ignore_reinit_error=True)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise MisstepError(f"no Ray cluster answers at '{address}': {error}") from None
        resources = ray.cluster_resources()
        sharing = Counter(job.model for job in jobs)
        task = ray.remote(max_retries=_RETRIES)(run_job)
        waiting = {
            task.options(num_cpus=job.cpus, num_gpus=job.gpus).remote(
                job, min(_places(resources, job), sharing[job.model]), env
            ): job
            for job in jobs
        }
        while waiting:
            [ended], _ = ray.wait(list(waiting), num_returns=1)
            yield waiting.pop(ended), _problem(ray.get, ended)

    return run


def _problem(result: Callable[..., str | None], *arguments: Any) -> str | None:  # noqa: ANN401
    """Return the problem of a job; an error of one job must not stop the others."""
    try:
        return result(*arguments)
    except Exception as error:
        return f"failed: {error}"


def _places(resources: Mapping[str, float], job: Job) -> int:
    """Return how many jobs of this kind a cluster with these resources runs at once."""
    needs = (("CPU", job.cpus), ("GPU", job.gpus))
    places = [resources.get(name, 0) // need for name, need in needs if need]
    return max(1, int(min(places, default=1)))
