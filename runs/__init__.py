"""Evals in many processes, with many models, on a cluster.

The functions of `_workers` are imported at once: they start the fork server, which loads Inspect
while it is loaded here. All other names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misstep.runs._workers import (
    collect_rarely,
    freeze_loaded_objects,
    run_inspect,
    start_fork_server,
)

if TYPE_CHECKING:
    from misstep.runs._command import EvalCommand
    from misstep.runs._jobs import Executor, Job, local_processes, ray_cluster, run_job
    from misstep.runs._join import ShardLog, join_logs
    from misstep.runs._split_run import Shard, SplitRun, split
    from misstep.runs._sweep import RunProgress, SweepRun, run_sweep, sweep_runs
    from misstep.runs._sweep_file import Sweep, SweepEval, SweepModel, read_sweep

__all__ = [
    "EvalCommand",
    "Executor",
    "Job",
    "RunProgress",
    "Shard",
    "ShardLog",
    "SplitRun",
    "Sweep",
    "SweepEval",
    "SweepModel",
    "SweepRun",
    "collect_rarely",
    "freeze_loaded_objects",
    "join_logs",
    "local_processes",
    "ray_cluster",
    "read_sweep",
    "run_inspect",
    "run_job",
    "run_sweep",
    "split",
    "start_fork_server",
    "sweep_runs",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name when it is first used."""
    if name in __all__:
        for module in ("_command", "_jobs", "_join", "_split_run", "_sweep", "_sweep_file"):
            found = getattr(import_module(f"misstep.runs.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
