"""Long trials of endurance: whatever fails, the figures are those of an undisturbed run.

python -m benchmarks.soak            # every fault at 1, 10 and 30%; a dead server; kills
python -m benchmarks.soak --short    # the same at 10% alone, on half of the samples
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog, EvalScore, read_eval_log
from inspect_ai.model import get_model
from rich.console import Console
from rich.table import Table

from benchmarks.openai_server import Fault, Faults, OpenAIServer, critic

PROVIDERS = ("openai-api", "lean")
EVAL = "misstep/processbench.sample"
PASSING = (
    Fault.RATE_LIMIT,
    Fault.RETRY_AFTER,
    Fault.SERVER_ERROR,
    Fault.UNAVAILABLE,
    Fault.CUT,
    Fault.SLOW_BODY,
    Fault.MALFORMED_JSON,
    Fault.NO_CHOICES,
)
VOTES = 4
KILLS = 3
FEW = 100
"""Samples of the short form."""


@dataclass(frozen=True)
class Trial:
    """What was done to a run, and whether it mattered."""

    name: str
    problem: str
    """Empty where the figures are those of the undisturbed run."""
    requests: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all trials and print a table; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args(arguments).short
    os.environ["LOCAL_API_KEY"] = "x"
    table = Table("trial", "requests", "seconds", "outcome")
    failed = False
    for trial in _trials(short):
        print(trial, file=sys.stderr)
        failed |= bool(trial.problem)
        table.add_row(
            trial.name,
            f"{trial.requests:,}",
            f"{trial.seconds:.0f}",
            trial.problem or "same figures",
        )
    Console().print(table)
    return int(failed)


def _trials(short: bool) -> Iterator[Trial]:
    limit = FEW if short else None
    with tempfile.TemporaryDirectory() as folder:
        with OpenAIServer(critic) as server:
            calm = _figures(_run(server.url, folder, limit))
        for provider, fault in product(PROVIDERS, PASSING):
            for rate in [0.1] if short else [0.01, 0.1, 0.3]:
                yield _faulty(provider, fault, rate, calm, folder, limit)
        yield _dead_server(5 if short else 60, calm, folder, limit)
        yield _killed(calm, folder, limit)


def _run(url: str, folder: str, limit: int | None, provider: str = "openai-api") -> EvalLog:
    [log] = evaluate(
        EVAL,
        task_args={"votes": VOTES},
        model=get_model(f"{provider}/local/critic", base_url=url, api_key="x", memoize=False),
        log_dir=folder,
        display="none",
        log_level="error",
        retry_on_error=30,
        limit=limit,
    )
    return log


def _figures(log: EvalLog) -> list[EvalScore]:
    if log.status != "success" or log.results is None:
        raise RuntimeError(log.error.message if log.error else f"it ended as {log.status}")
    return log.results.scores


def _faulty(
    provider: str,
    fault: Fault,
    rate: float,
    calm: list[EvalScore],
    folder: str,
    limit: int | None,
) -> Trial:
    start = time.monotonic()
    faults = Faults({fault: rate}, seed=1, retry_after=0.5, pause=0.5)
    with OpenAIServer(critic, faults=faults) as server:
        problem = _compared(lambda: _run(server.url, folder, limit, provider), calm)
        name = f"{provider}, {fault} {rate:.0%}"
        return Trial(name, problem, len(server.requests), time.monotonic() - start)


def _dead_server(seconds: float, calm: list[EvalScore], folder: str, limit: int | None) -> Trial:
    """The server dies in the middle, and comes back at the same address."""
    start = time.monotonic()
    with OpenAIServer(critic, latency=200) as server:

        def die_and_return() -> None:
            while len(server.requests) < 20:
                time.sleep(0.05)
            server.down()
            time.sleep(seconds)
            server.up()

        thread = threading.Thread(target=die_and_return)
        thread.start()
        problem = _compared(lambda: _run(server.url, folder, limit), calm)
        thread.join()
        asked = len(server.requests)
    return Trial(f"server dead for {seconds:.0f} s", problem, asked, time.monotonic() - start)


def _killed(calm: list[EvalScore], folder: str, limit: int | None) -> Trial:
    """A split run is killed at random moments, and resumed each time."""
    start = time.monotonic()
    chance = random.Random(0)
    misstep = Path(sys.executable).with_name("misstep")
    with OpenAIServer(critic, latency=300) as server:
        command = [
            *(misstep, "run", EVAL, "--processes", "2", "-T", f"votes={VOTES}"),
            *("--model", "openai-api/local/critic", "--model-base-url", server.url),
            *("--max-connections", "2", "--log-buffer", "1", "--log-dir", f"{folder}/killed"),
            *(("--limit", str(limit)) if limit else ()),
        ]
        for _ in range(KILLS):
            before = len(server.requests)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            while len(server.requests) < before + 5 and process.poll() is None:
                time.sleep(0.05)
            time.sleep(chance.uniform(0, 2))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(3)  # until its workers have noticed
            [run] = Path(folder, "killed").glob("*.shards")
            command = [misstep, "run", "--resume", run]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        log = read_eval_log(str(run.with_suffix(".eval")))
        problem = _compared(lambda: log, calm)
        ids = [sample.id for sample in log.samples or []]
        if len(set(ids)) != len(ids):
            problem = "a sample is counted twice"
        return Trial(
            f"killed {KILLS} times", problem, len(server.requests), time.monotonic() - start
        )


def _compared(run: Callable[[], EvalLog], calm: list[EvalScore]) -> str:
    try:
        figures = _figures(run())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if figures == calm else "other figures"


if __name__ == "__main__":
    sys.exit(main())
