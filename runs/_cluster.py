"""Shards as Ray tasks: Ray places them by what they need, and runs them again when a node dies."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from misstep.registry import MisstepError
from misstep.runs import Executor, Job, Workers, run_shard

_RETRIES = 3
"""How often a shard whose node died is run again; it goes on from what its log holds."""


def ray_cluster(address: str | None = None, pass_env: Sequence[str] = ()) -> Executor:
    """Run jobs as tasks of a Ray cluster.

    Args:
        address: An existing cluster's; None starts one on this machine.
        pass_env: Names of environment variables that the workers get from here.

    Raises:
        MisstepError: Ray is not installed, a variable is not set, or there is no such cluster.
    """
    ray = _ray()
    missing = [name for name in pass_env if name not in os.environ]
    if missing:
        raise MisstepError(f"pass_env names {', '.join(missing)}, which is not set here")
    env = {name: os.environ[name] for name in pass_env}

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        if not ray.is_initialized():
            _connect(ray, address)
        task = ray.remote(max_retries=_RETRIES)(_run_shard)
        waiting = {
            task.options(num_cpus=job.cpus, num_gpus=job.gpus).remote(
                job.folder, job.shard, env
            ): job
            for job in jobs
        }
        while waiting:
            [ended], _ = ray.wait(list(waiting), num_returns=1)
            job = waiting.pop(ended)
            try:
                problem = ray.get(ended)
            except ray.exceptions.RayError as error:
                problem = f"was lost: {error}"
            yield job, problem

    return run


def _run_shard(folder: str, shard: int, env: Mapping[str, str]) -> str | None:
    # On a node of the cluster, which has workers of its own.
    with Workers() as workers:
        return run_shard(folder, shard, workers, env)


def _ray() -> Any:  # noqa: ANN401 (an optional library)
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
