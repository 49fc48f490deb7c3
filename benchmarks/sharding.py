"""One eval in eight shards by two workers, relative to one worker."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._rows import rows_file
from benchmarks._runs import server_process
from misstep.runs import EvalCommand, Job, SplitRun, local_processes

SAMPLES = 3400
SHARDS = 8
TARGET = 0.6


def measure() -> Iterator[Measurement]:
    """Measure two workers relative to one; without latency, so that processors decide."""
    os.environ["LOCAL_API_KEY"] = "x"
    with server_process("--reply", "short") as url, rows_file(SAMPLES) as path:
        one, two = (_seconds(url, path, workers) for workers in (1, 2))
    note = f"{two:.0f} s, one worker {one:.0f} s; {SAMPLES:,} samples in {SHARDS} shards"
    yield Measurement("two workers to one", two / one, "times", TARGET, note)


def _seconds(url: str, path: Path, workers: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        options = [
            *("--model", "openai-api/local/critic", "--model-base-url", url),
            *("--no-log-realtime", "--no-score-display"),
        ]
        command = EvalCommand.parse("misstep/processbench", [f"source={path}"], None, options, 64)
        run = SplitRun.create(command, SHARDS, folder)
        start = time.perf_counter()
        jobs = [Job(run.folder, shard.index) for shard in run.shards]
        problems = [problem for _, problem in local_processes(workers)(jobs) if problem]
        if problems:
            raise RuntimeError(problems[0])
        run.join()
        return time.perf_counter() - start
