"""Votes that adaptive voting draws with a model that mostly agrees with itself."""

from collections.abc import Iterator
from random import Random

from benchmarks._measurement import Measurement
from benchmarks._rows import rows_file
from benchmarks._runs import lacking, local_model, run
from misstep.evals.processbench import processbench
from tests.support.openai_server import ChatRequest, OpenAIServer

NAME = "votes drawn adaptively"
TARGET = 0.8
SAMPLES = 200
VOTES = 8
AGREEMENT = 0.8


def measure() -> Iterator[Measurement]:
    """The votes that were drawn as a share of all."""
    if note := lacking("votes", "adaptive"):
        yield Measurement(NAME, None, "times", TARGET, note)
        return
    with OpenAIServer(_mostly_agreeing) as server, rows_file(SAMPLES) as path:
        run(processbench(source=str(path), votes=VOTES, adaptive=True), local_model(server.url))
        drawn = sum(request.choices for request in server.requests)
    possible = SAMPLES * VOTES
    note = f"{drawn:,} of {possible:,}, agreement {AGREEMENT:.0%}"
    yield Measurement(NAME, drawn / possible, "times", TARGET, note)


def _mostly_agreeing(request: ChatRequest, choice: int) -> str:
    generator = Random(request.key + bytes([choice]))
    index = 0 if generator.random() < AGREEMENT else generator.randint(1, 3)
    return rf"\boxed{{{index}}}"
