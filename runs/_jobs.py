"""Jobs for workers, and who runs them: processes on this machine, or a Ray cluster."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from misstep.registry import MisstepError
from misstep.runs._command import EvalCommand
from misstep.runs._eval_set import run_eval_set
from misstep.runs._split_run import SplitRun
from misstep.runs._workers import run_in_worker, run_inspect

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
    """Start a job, resume it, or find it done.

    Args:
        job: The job.
        workers: How many workers share the connections of its model.
        env: Variables to add to the environment.

    Returns:
        The problem with the end of the worker's output, or None.
    """
    if job.command is not None:
        folder = job.folder
        command = job.command.shared_among(workers)
        status, output = run_in_worker(run_eval_set, command, folder, env=env)
    else:
        folder = f"{job.folder}/{job.shard}"
        run = SplitRun.open(job.folder)
        command = run.command.shared_among(workers)
        with tempfile.TemporaryDirectory(prefix="misstep-") as scratch:
            config = Path(scratch) / "config.yaml"
            config.write_text(yaml.safe_dump(command.config), encoding="utf-8")
            arguments = run.next_arguments(run.shards[job.shard or 0], command, str(config))
            if arguments is None:
                return None
            status, output = run_inspect(arguments, env)
    if finished_log(folder) is not None:
        return None
    return f"ended with status {status} and no finished log:\n{output}"


def finished_log(folder: str) -> EvalLog | None:
    """Return the header of the successful log in a folder, or None."""
    logs = list_eval_logs(folder, formats=["eval"], recursive=False)
    headers = (read_eval_log(log, header_only=True) for log in logs)
    return next((header for header in headers if header.status == "success"), None)


def local_processes(count: int) -> Executor:
    """Return an executor that runs jobs in this many processes on this machine."""

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        sharing = _sharing(jobs)
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

    Args:
        address: The address of an existing cluster; None starts one on this machine.
        pass_env: Names of environment variables that workers get from here.

    Raises:
        MisstepError: Ray is not installed, a variable is not set, or there is no such cluster.
    """
    ray = _import_ray()
    missing = [name for name in pass_env if name not in os.environ]
    if missing:
        raise MisstepError(f"pass_env names {', '.join(missing)}, which is not set here")
    env = {name: os.environ[name] for name in pass_env}

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        if not ray.is_initialized():
            _connect(ray, address)
        sharing = _sharing(jobs)
        task = ray.remote(max_retries=_RETRIES)(run_job)
        waiting = {
            task.options(num_cpus=job.cpus, num_gpus=job.gpus).remote(
                job, min(_places(ray, job), sharing[job.model]), env
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


def _sharing(jobs: Sequence[Job]) -> Counter[str]:
    """Return how many jobs each model has."""
    return Counter(job.model for job in jobs)


def _places(ray: Any, job: Job) -> int:  # noqa: ANN401
    """Return how many jobs of this kind a cluster runs at once."""
    resources = ray.cluster_resources()
    needs = (("CPU", job.cpus), ("GPU", job.gpus))
    places = [resources.get(name, 0) // need for name, need in needs if need]
    return max(1, int(min(places, default=1)))


def _import_ray() -> Any:  # noqa: ANN401 (an optional library)
    try:
        import ray
    except ImportError:
        raise MisstepError(
            "Ray is not installed. Install it: pip install 'misstep[cluster]'; "
            "without it, sweeps run in processes on this machine."
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> None:  # noqa: ANN401
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise MisstepError(f"no Ray cluster answers at '{address}': {error}") from None
