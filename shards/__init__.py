"""One eval split by sample over workers, and the logs of the parts joined into one."""

from misstep.shards._archive import Archive
from misstep.shards._command import EvalCommand
from misstep.shards._executor import Executor, Job, local_processes
from misstep.shards._gathering import gathering
from misstep.shards._join import join_logs
from misstep.shards._run_shard import run_shard
from misstep.shards._split import Shard, split
from misstep.shards._split_run import SplitRun

__all__ = [
    "Archive",
    "EvalCommand",
    "Executor",
    "Job",
    "Shard",
    "SplitRun",
    "gathering",
    "join_logs",
    "local_processes",
    "run_shard",
    "split",
]
