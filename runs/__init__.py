"""Evals in many processes, with many models, on a cluster.

Names are imported when they are first used. So `Workers` starts the processes that load Inspect
before Inspect is loaded here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misstep.runs._garbage import collect_rarely, keep_what_is_loaded
from misstep.runs._workers import Workers

if TYPE_CHECKING:
    from misstep.runs._archive import Archive
    from misstep.runs._cluster import ray_cluster
    from misstep.runs._command import EvalCommand
    from misstep.runs._executor import Executor, Job, local_processes
    from misstep.runs._gathering import gathering
    from misstep.runs._join import join_logs
    from misstep.runs._progress import Progress, advance, progress
    from misstep.runs._run_shard import run_shard
    from misstep.runs._split import Shard, split
    from misstep.runs._split_run import SplitRun
    from misstep.runs._sweep_file import Sweep, SweepEval, SweepModel, read_sweep
    from misstep.runs._sweep_runs import Run, runs_of

__all__ = [
    "Archive",
    "EvalCommand",
    "Executor",
    "Job",
    "Progress",
    "Run",
    "Shard",
    "SplitRun",
    "Sweep",
    "SweepEval",
    "SweepModel",
    "Workers",
    "advance",
    "collect_rarely",
    "gathering",
    "join_logs",
    "keep_what_is_loaded",
    "local_processes",
    "progress",
    "ray_cluster",
    "read_sweep",
    "run_shard",
    "runs_of",
    "split",
]

_MODULES = {
    "_archive": ("Archive",),
    "_cluster": ("ray_cluster",),
    "_command": ("EvalCommand",),
    "_executor": ("Executor", "Job", "local_processes"),
    "_gathering": ("gathering",),
    "_join": ("join_logs",),
    "_progress": ("Progress", "advance", "progress"),
    "_run_shard": ("run_shard",),
    "_split": ("Shard", "split"),
    "_split_run": ("SplitRun",),
    "_sweep_file": ("Sweep", "SweepEval", "SweepModel", "read_sweep"),
    "_sweep_runs": ("Run", "runs_of"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name when it is first used."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"misstep.runs.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
