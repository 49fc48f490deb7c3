"""Evals from the command line to the log, beside raw asyncio and plain Inspect.

All are whole programs, start-up included, with the same connections and latency. The peers send
the same requests as the eval: raw asyncio with the openai client alone, plain Inspect as a trivial
task with one call per sample.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._programs import BIN, MODEL, Usage, inspect_eval, program, raw_calls
from benchmarks._rows import rows_file
from benchmarks._runs import CONNECTIONS, server_process

LATENCIES = (0, 200)
OVER_PLAIN = 1.15
"""The target for ProcessBench without latency: one critique per sample is the same work."""


@dataclass(frozen=True)
class Case:
    """An eval and the replies of the server."""

    name: str
    samples: int
    command: Callable[[Path], list[str | Path]]
    """Returns the command; its argument is a folder for its files."""
    reply: str = "critic"
    target: float | None = None
    """The target of the ratio to plain Inspect, without latency."""


def measure() -> Iterator[Measurement]:
    """Yield the ratio of each eval's time to its peers', without latency and at 200 ms."""
    yield from _measured(
        _processbench("ProcessBench", 400, target=OVER_PLAIN),
        _processbench("ProcessBench, 8 votes", 400, "votes=8"),
        _processbench(
            "ProcessBench, stepwise",
            100,
            "critic=stepwise",
            "style=single_token",
            reply="plus_minus",
        ),
        _recovery(20),
        _search(25),
        _forge(400),
    )


def measure_short() -> Iterator[Measurement]:
    """Yield the same for two evals and few samples: it shows that the benchmark works."""
    yield from _measured(_processbench("ProcessBench", 60), _recovery(3))


def _measured(*cases: Case) -> Iterator[Measurement]:
    for case in cases:
        for latency in LATENCIES:
            with tempfile.TemporaryDirectory() as folder:
                yield from _compared(case, latency, Path(folder))


def _processbench(
    name: str, samples: int, *options: str, reply: str = "critic", target: float | None = None
) -> Case:
    def command(folder: Path) -> list[str | Path]:
        path = folder / "rows.jsonl"
        with rows_file(samples) as made:
            path.write_bytes(made.read_bytes())
        return _inspect_eval("processbench", folder, f"source={path}", *options)

    return Case(name, samples, command, reply, target)


def _recovery(per_task: int) -> Case:
    options = ("source=generated", f"per_task={per_task}")
    return Case(
        "error recovery",
        5 * per_task,
        lambda folder: _inspect_eval("error-recovery", folder, *options),
        "short",
    )


def _search(problems: int) -> Case:
    def command(folder: Path) -> list[str | Path]:
        path = folder / "problems.jsonl"
        rows = [{"problem": f"Problem {i}", "answer": "1"} for i in range(problems)]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        options = (f"source={path}", "n=8", "style=single_token", "continuation=prefill")
        role = ("--model-role", "reward=openai-api/local/judge")
        return [*_inspect_eval("guided_search", folder, *options), *role]

    return Case("guided search", problems, command, "searcher")


def _forge(examples: int) -> Case:
    command = [
        *(BIN / "misstep", "forge", "build", "--source", "offline", *MODEL),
        *("--no-review", "--injection-rate", "1"),
        *("--num-examples", str(examples), "--max-connections", str(CONNECTIONS), "-o"),
    ]
    return Case("forge", examples, lambda folder: [*command, folder / "set"], "injector")


def _inspect_eval(name: str, folder: Path, *options: str) -> list[str | Path]:
    arguments = [text for option in options for text in ("-T", option)]
    return inspect_eval(f"misstep/{name}", folder / "logs", *arguments)


def _compared(case: Case, latency: int, folder: Path) -> Iterator[Measurement]:
    recorded = folder / "requests.jsonl"
    command = case.command(folder)
    slow = ("--reply", case.reply, "--latency", str(latency))
    with server_process(*slow, "--record", str(recorded)) as url:
        ours = program(command, url)
    calls = len(recorded.read_text(encoding="utf-8").splitlines())
    with server_process(*slow) as url:
        raw = program(raw_calls(recorded), url)
        bare = ("benchmarks/bare_task.py@bare_requests", folder / "plain")
        plain = program(inspect_eval(*bare, "-T", f"requests={recorded}"), url)
    log = f"{_log_bytes(folder) / case.samples / 1000:.1f} kB of log a sample"
    size = f"{case.samples} samples, {calls:,} calls at {latency} ms"
    yield Measurement(
        f"{case.name} beside plain Inspect",
        ours.seconds / plain.seconds,
        "times",
        case.target if latency == 0 else None,
        f"{_usage_text(ours, calls)}, {log}; plain {_usage_text(plain, calls)}; {size}",
    )
    note = f"raw {_usage_text(raw, calls)}; {size}"
    yield Measurement(
        f"{case.name} beside raw asyncio", ours.seconds / raw.seconds, "times", None, note
    )


def _usage_text(usage: Usage, calls: int) -> str:
    each = 1000 * usage.cpu / calls
    return f"{usage.seconds:.1f} s, {each:.1f} ms of CPU a call, {usage.megabytes:.0f} MB"


def _log_bytes(folder: Path) -> int:
    logs = [path for path in folder.rglob("*.eval") if (folder / "plain") not in path.parents]
    return sum(path.stat().st_size for path in logs)
