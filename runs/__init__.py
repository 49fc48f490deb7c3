"""Evals in many processes, with many models, on a cluster.

`start_fork_server` and the garbage collector's settings are imported at once. All other names are
imported when they are first used, so that the fork server loads Inspect while it is loaded here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misstep.runs._workers import collect_rarely, freeze_loaded_objects, start_fork_server

if TYPE_CHECKING:
    from misstep.runs._command import EvalCommand
    from misstep.runs._jobs import Executor, Job, local_processes, ray_cluster
    from misstep.runs._split_run import SplitRun
    from misstep.runs._sweep import RunProgress, Sweep, SweepRun, read_sweep, run_sweep, sweep_runs


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name when it is first used."""
    for module in ("_command", "_jobs", "_split_run", "_sweep"):
        if not name.startswith("_") and hasattr(
            found := import_module(f"misstep.runs.{module}"), name
        ):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
