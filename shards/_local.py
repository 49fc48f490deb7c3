"""Shards in processes on this machine."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from misstep.registry import MisstepError
from misstep.shards._split import Shard
from misstep.shards._split_run import SplitRun

_TAIL = 2_000
"""Characters of a failed worker's output that the message quotes."""


def run_locally(
    run: SplitRun, processes: int, finished: Callable[[Shard], None] = lambda _: None
) -> None:
    """Run what is left of a split run, so many processes at once.

    Args:
        run: The run; shards of it that are done are not run again.
        processes: How many at once.
        finished: Called when a shard is done.

    Raises:
        MisstepError: Shards failed; each is named, with the end of its output. The others are done.
    """
    folder = Path(run.folder.removeprefix("file://"))

    def worker(shard: Shard, command: list[str]) -> None:
        output = folder / f"{shard.index}.out"
        run_worker(command, output)
        finished(shard)

    with ThreadPoolExecutor(processes) as pool:
        tasks = [(shard, pool.submit(worker, shard, command)) for shard, command in run.left()]
    failures = [
        f"shard {shard.index} (samples {shard.limit}): {task.exception()}"
        for shard, task in tasks
        if task.exception() is not None
    ]
    if failures:
        raise MisstepError("\n".join([*failures, f"Go on with: misstep run --resume {folder}"]))


def run_worker(command: list[str], output: Path) -> None:
    """Run one worker to its end. It ends early if this process does.

    Args:
        command: Its command line.
        output: A file for what it prints.

    Raises:
        MisstepError: It failed; the message quotes the end of its output.
    """
    with (
        output.open("wb") as file,
        subprocess.Popen(  # noqa: S603 (the command is our own)
            command, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        # The pipe is held open and never written to: the worker ends when it closes.
        status = process.wait()
    text = output.read_text(encoding="utf-8", errors="replace")
    if status != 0 or '"status": "success"' not in text:
        raise MisstepError(f"ended with the status {status}:\n{text[-_TAIL:].strip()}")
