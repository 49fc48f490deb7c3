"""Running one shard to its end, from where it was."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from misstep.shards._split_run import SplitRun, State

_TAIL = 2_000
"""Characters of a failed worker's output that are told."""


def run_shard(folder: str, index: int, env: Mapping[str, str] | None = None) -> str | None:
    """Bring a shard to its end: run it, go on with it, or find it done.

    The worker ends early if this process does, however that comes about.

    Args:
        folder: The split run's folder.
        index: Which shard.
        env: What to add to the environment.

    Returns:
        The problem, with the end of the worker's output; None where there is none.
    """
    run = SplitRun.open(folder)
    shard = run.shards[index]
    with tempfile.TemporaryDirectory(prefix="misstep-") as scratch:
        config, output = Path(scratch) / "config.yaml", Path(scratch) / "output"
        config.write_text(yaml.safe_dump(run.command.config), encoding="utf-8")
        arguments = run.next_command(shard, str(config))
        if arguments is None:
            return None
        with (
            output.open("wb") as file,
            subprocess.Popen(  # noqa: S603 (the command is our own)
                [sys.executable, "-m", "misstep.shards", *arguments],
                # Held open and never written to: the worker ends when it closes.
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
            ) as process,
        ):
            status = process.wait()
        if run.state(shard) is State.DONE:
            return None
        said = output.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
        return f"ended with the status {status}, not with a finished log:\n{said}"
