"""One eval split by sample over processes, and the logs of the parts joined into one."""

from misstep.shards._command import EvalCommand
from misstep.shards._join import join_logs
from misstep.shards._local import run_locally
from misstep.shards._split import Shard, split
from misstep.shards._split_run import SplitRun

__all__ = ["EvalCommand", "Shard", "SplitRun", "join_logs", "run_locally", "split"]
