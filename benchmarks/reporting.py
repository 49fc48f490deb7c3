"""A report on twenty logs of ProcessBench's size, and a comparison of two of them.

The report runs in its own process, to measure its peak memory: `python -m benchmarks.reporting`.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from inspect_ai.log import read_eval_log, write_eval_log

from benchmarks._measurement import Measurement, quickest
from benchmarks._programs import program
from benchmarks._rows import FULL, rows_file
from misstep.loaders import load_rows
from misstep.reports import build_report, compare, read_logs, read_run, report_page
from tests.support.logs import guesses, write_first_error_log

LOGS = 20
WRITTEN = 2
"""Logs that Inspect writes; the others are copies with other headers."""


def measure() -> Iterator[Measurement]:
    """Yield the time and memory of a report, and the time of a comparison with 10,000 resamples."""
    with tempfile.TemporaryDirectory() as folder:
        logs = _logs(Path(folder))
        done = program([sys.executable, "-m", "benchmarks.reporting", folder])
        seconds, busy = map(float, done.output.split()[-2:])
        note = f"{LOGS} logs of {FULL:,} samples"
        yield Measurement("report", seconds, "s", 60, f"{note}; {busy:.0f} s of one processor")
        yield Measurement("peak memory of a report", done.megabytes, "MB", 2000, note)
        pair = [read_run(str(log)) for log in logs[:WRITTEN]]
        compared = quickest(lambda: compare(pair))
        sizes = f"{FULL:,} samples, 10,000 resamples"
        yield Measurement("compare two runs", compared, "s", 2, sizes)
        whole = quickest(lambda: compare([read_run(str(log)) for log in logs[:WRITTEN]]))
        yield Measurement("compare two logs", whole, "s", 2, "the same, with reading them")


def _logs(folder: Path) -> list[Path]:
    with rows_file(FULL) as path:
        rows = load_rows(str(path))
    written = []
    for number in range(WRITTEN):
        log = folder / f"2026-01-02T03-04-{number:02d}-00-00_processbench_{number}.eval"
        replies = guesses(rows, 0.4 + 0.2 * number, number)
        write_first_error_log(log, rows, replies, model=f"openai/model-{number}")
        written.append(log)
    return [*written, *_copies(written, LOGS - WRITTEN)]


def _copies(logs: Sequence[Path], count: int) -> list[Path]:
    """Copy logs as runs of other models: only the headers change."""
    made = []
    for number in range(count):
        source = logs[number % len(logs)]
        target = source.with_name(f"{source.stem}-{number}{source.suffix}")
        shutil.copy(source, target)
        head = read_eval_log(str(target), header_only=True)
        head.eval.eval_id = head.eval.run_id = head.eval.task_id = target.stem
        head.eval.model = f"openai/copy-{number}"
        write_eval_log(head, str(target), header_only=True)
        made.append(target)
    return made


def main(folder: str) -> None:
    """Make the report; print its seconds and its CPU seconds."""
    start, busy = time.perf_counter(), time.process_time()
    page = report_page(build_report(read_logs(folder)), folder)
    if page.count("<figure") < LOGS // 4:
        raise RuntimeError("the page has hardly any charts")
    print(time.perf_counter() - start, time.process_time() - busy)


if __name__ == "__main__":
    main(sys.argv[1])
