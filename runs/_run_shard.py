"""Running one shard to its end, from where it was."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from misstep.runs import Workers
from misstep.runs._split_run import SplitRun, State


def run_shard(
    folder: str, index: int, workers: Workers, env: Mapping[str, str] | None = None
) -> str | None:
    """Bring a shard to its end: run it, go on with it, or find it done.

    Args:
        folder: The split run's folder.
        index: Which shard.
        workers: Who runs it.
        env: What to add to the environment.

    Returns:
        The problem, with the end of the worker's output; None where there is none.
    """
    run = SplitRun.open(folder)
    shard = run.shards[index]
    with tempfile.TemporaryDirectory(prefix="misstep-") as scratch:
        config = Path(scratch) / "config.yaml"
        config.write_text(yaml.safe_dump(run.command.config), encoding="utf-8")
        arguments = run.next_command(shard, str(config))
        if arguments is None:
            return None
        status, said = workers.run(arguments, env or {})
    if run.state(shard) is State.DONE:
        return None
    return f"ended with the status {status}, not with a finished log:\n{said}"
