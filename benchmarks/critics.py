"""Calls and time of ProcessBench's critics: votes, adaptive votes, steps at once."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benchmarks._measurement import Measurement
from benchmarks._rows import rows_file
from benchmarks._runs import local_model, run, seconds, server_process
from misstep.evals.processbench import processbench
from tests.support.openai_server import ChatRequest, OpenAIServer

VOTES = 8
LATENCY = 200
STEPS = 10
AGREEMENT = 0.8
"""How often the model of the adaptive votes agrees with itself."""


def measure() -> Iterator[Measurement]:
    """Yield all measurements."""
    yield from measure_short()
    yield _votes(samples=400, times=2)
    yield _adaptive_votes(samples=200)


def measure_short() -> Iterator[Measurement]:
    """Yield the one measurement that takes seconds."""
    yield _steps_at_once()


def _votes(samples: int, times: int) -> Measurement:
    """Return the time with eight votes by one request, relative to one vote."""
    with server_process("--latency", str(LATENCY)) as url, rows_file(samples) as path:
        model = local_model(url)

        def fastest(votes: int) -> float:
            task = processbench(source=str(path), votes=votes)
            return min(seconds(task, model) for _ in range(times))

        # A first run, not measured: it imports the client libraries.
        seconds(processbench(source=str(path)), model)
        one, eight = fastest(1), fastest(VOTES)
    note = f"{eight:.1f} s, one vote {one:.1f} s; {samples} samples at {LATENCY} ms"
    return Measurement(f"{VOTES} votes beside 1", eight / one, "times", 1.6, note)


def _adaptive_votes(samples: int) -> Measurement:
    """Return the share of votes that adaptive voting draws."""
    with OpenAIServer(_mostly_agreeing) as server, rows_file(samples) as path:
        run(processbench(source=str(path), votes=VOTES, adaptive=True), local_model(server.url))
        drawn = sum(request.choices for request in server.requests)
    possible = samples * VOTES
    note = f"{drawn:,} of {possible:,}, agreement {AGREEMENT:.0%}"
    return Measurement("votes drawn adaptively", drawn / possible, "times", 0.8, note)


def _mostly_agreeing(request: ChatRequest, choice: int) -> str:
    generator = Random(request.key + bytes([choice]))
    index = 0 if generator.random() < AGREEMENT else generator.randint(1, 3)
    return rf"\boxed{{{index}}}"


def _steps_at_once() -> Measurement:
    """Return the time of parallel judgements of ten steps, relative to sequential ones."""
    with TemporaryDirectory() as folder, OpenAIServer(_right, latency=LATENCY) as server:
        path = Path(folder) / "solution.jsonl"
        row = {"id": "1", "problem": "?", "steps": ["It is so."] * STEPS, "label": -1}
        path.write_text(json.dumps(row), encoding="utf-8")
        model = local_model(server.url)
        # The first run is not measured: it imports the client libraries.
        _, parallel, sequential = (
            seconds(
                processbench(
                    source=str(path), critic="stepwise", style="single_token", calls=calls
                ),
                model,
            )
            for calls in ("parallel", "parallel", "sequential")
        )
        if len(server.requests) != 3 * STEPS:
            raise RuntimeError(f"{len(server.requests)} calls instead of {3 * STEPS}")
    note = f"{parallel:.2f} s, in turn {sequential:.2f} s; {STEPS} steps at {LATENCY} ms"
    return Measurement("steps at once beside in turn", parallel / sequential, "times", 0.25, note)


def _right(request: ChatRequest, choice: int) -> str:
    """Return the verdict that a step is right, in the words of every kind of judge."""
    return r"+ \boxed{Right}"
