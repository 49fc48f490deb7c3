"""Build sets: split and filter solutions, in bounded memory, with busy connections.

The memory is measured in its own process: `python -m benchmarks.forging 100000`.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks._measurement import TIMES, Measurement
from benchmarks._programs import program, raw_calls
from benchmarks._runs import CONNECTIONS, local_model, server_process, span
from misstep.forge import BuildSettings, CallSettings, analyse, build_set, examine_row, source_rows
from misstep.loaders import RawRow, mirror
from misstep.runs import freeze_loaded_objects

SOLUTIONS_A_SECOND = 4000
MEGABYTES = 500
LONGER = 1.05
ROWS = (2_000, 100_000)
LATENCY = 2000
EXAMPLES = 1024
"""A multiple of the connections."""


def measure() -> Iterator[Measurement]:
    """Yield the time per solution, the memory of many, and the time of a build beside its calls."""
    rows = _rows()
    times = max(1, 600 // len(rows))
    elapsed = min(_cpu_seconds(rows, times) for _ in range(TIMES))
    each = 1000 * elapsed / (times * len(rows))
    mean = sum(len(row["solution"]) for _, row in rows) / len(rows)
    note = f"{1000 / each:,.0f} a second, {mean:,.0f} characters each"
    yield Measurement("cut and filter a solution", each, "ms", 1000 / SOLUTIONS_A_SECOND, note)
    few, many = (_megabytes(count) for count in ROWS)
    note = f"{many:.0f} MB for {ROWS[1]:,} rows, {few:.0f} MB for {ROWS[0]:,}"
    yield Measurement("memory beyond the library's", many - few, "MB", MEGABYTES, note)
    yield _building()


def _cpu_seconds(rows: list[RawRow], times: int) -> float:
    """Return CPU seconds: the target is per core, and other programs may run."""
    start = time.process_time()
    for number, row in islice(cycle(rows), times * len(rows)):
        examine_row(number, row)
    return time.process_time() - start


def _rows() -> list[RawRow]:
    """Return real rows if the offline mirror has them, else generated ones."""
    file = mirror() / "numinamath" / "numinamath_cot.jsonl"
    if file.is_file():
        return list(enumerate(map(json.loads, file.open(encoding="utf-8")), 1))
    return list(source_rows("offline", BuildSettings(num_examples=60)))


def _megabytes(rows: int) -> float:
    return program([sys.executable, "-m", "benchmarks.forging", str(rows)]).megabytes


def _building() -> Measurement:
    # One call for each example: no review, and an error in every solution.
    order = BuildSettings(num_examples=EXAMPLES, injection_rate=1.0, votes=0)
    calls = CallSettings(max_connections=CONNECTIONS)
    options = ("--reply", "injector", "--latency", str(LATENCY))
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / "requests.jsonl"
        with server_process(*options, "--record", str(recorded)) as url:
            taken = _build_seconds(order, calls, url, Path(folder))
        bodies = recorded.read_text(encoding="utf-8").splitlines()[-EXAMPLES:]
        recorded.write_text("\n".join(bodies), encoding="utf-8")
        with server_process(*options) as url:
            alone = float(program(raw_calls(recorded), url).output.split()[-1])
    ideal = EXAMPLES / CONNECTIONS * LATENCY / 1000
    times = f"{taken:.1f} s, the calls {alone:.1f} s by raw asyncio, {ideal:.1f} s by arithmetic"
    note = f"{times}; {EXAMPLES:,} of {LATENCY} ms, {CONNECTIONS} at a time"
    return Measurement("a build beside its calls", taken / alone, "times", LONGER, note)


def _build_seconds(order: BuildSettings, calls: CallSettings, url: str, folder: Path) -> float:
    model = local_model(url)

    def build(order: BuildSettings, name: str) -> str:
        rows = source_rows("offline", order)
        made = build_set("offline", rows, order, model, None, folder / name, calls, lambda _: None)
        return made.log

    # The first run is not measured: it imports the client libraries.
    build(BuildSettings(num_examples=2, injection_rate=1.0, votes=0), "first")
    freeze_loaded_objects()
    return span(build(order, "measured"))


def main(count: int) -> None:
    """Analyse `count` rows."""
    rows = islice(cycle(_rows()), count)
    analyse(((number, row) for number, (_, row) in enumerate(rows, 1)), 8)


if __name__ == "__main__":
    main(int(sys.argv[1]))
