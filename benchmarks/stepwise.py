"""Judging the steps of a solution at once, beside one after another."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from inspect_ai.model import Model

from benchmarks._measurement import Measurement
from benchmarks._runs import lacking, local_model, seconds
from misstep.evals.processbench import processbench
from tests.support.openai_server import ChatRequest, OpenAIServer

Order: TypeAlias = Literal["parallel", "sequential"]

NAME = "steps at once beside in turn"
TARGET = 0.25
STEPS = 10
LATENCY = 200


def measure() -> Iterator[Measurement]:
    """The time of all steps at once as a share of that of one after another."""
    if note := lacking("critic", "order"):
        yield Measurement(NAME, None, "times", TARGET, note)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        OpenAIServer(_right, latency=LATENCY) as server,
    ):
        path = Path(folder) / "solution.jsonl"
        row = {"id": "1", "problem": "?", "steps": ["It is so."] * STEPS, "label": -1}
        path.write_text(json.dumps(row), encoding="utf-8")
        model = local_model(server.url)
        # Once before: the first run in a process imports the client libraries.
        _seconds(path, model, "parallel")
        parallel = _seconds(path, model, "parallel")
        sequential = _seconds(path, model, "sequential")
        if len(server.requests) != 3 * STEPS:
            raise RuntimeError(f"{len(server.requests)} calls in place of {3 * STEPS}")
    note = f"{parallel:.2f} s, in turn {sequential:.2f} s; {STEPS} steps at {LATENCY} ms"
    yield Measurement(NAME, parallel / sequential, "times", TARGET, note)


def _right(request: ChatRequest, choice: int) -> str:
    """A step is right, in the words of either kind of judge."""
    return r"+ \boxed{Right}"


def _seconds(path: Path, model: Model, order: Order) -> float:
    return seconds(processbench(source=str(path), critic="stepwise", order=order), model)
