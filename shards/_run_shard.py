"""Running one shard to its end, from where it was."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from misstep.shards._split_run import SplitRun, State
from misstep.workers import Worker


def run_shard(
    folder: str, index: int, env: Mapping[str, str] | None = None, worker: Worker | None = None
) -> str | None:
    """Bring a shard to its end: run it, go on with it, or find it done.

    Args:
        folder: The split run's folder.
        index: Which shard.
        env: What to add to the environment.
        worker: One that was started before; it is used up.

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
        status, said = (worker or Worker()).run(arguments, env or {})
    if run.state(shard) is State.DONE:
        return None
    return f"ended with the status {status}, not with a finished log:\n{said}"
