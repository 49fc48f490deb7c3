"""Many models on many evals: planned from a file, run on one machine or a cluster, resumed."""

from misstep.sweeps._cluster import ray_cluster
from misstep.sweeps._file import Sweep, SweepEval, SweepModel, read_sweep
from misstep.sweeps._progress import Progress, advance, progress
from misstep.sweeps._runs import Run, runs_of

__all__ = [
    "Progress",
    "Run",
    "Sweep",
    "SweepEval",
    "SweepModel",
    "advance",
    "progress",
    "ray_cluster",
    "read_sweep",
    "runs_of",
]
