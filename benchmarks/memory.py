"""The peak memory of a run of ProcessBench's size, beside that of a bare task on the same prompts.

Each runs in its own process: `python -m benchmarks.memory processbench`.
"""

import sys
from collections.abc import Iterator
from typing import Any

from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from benchmarks._measurement import Measurement
from benchmarks._programs import program
from benchmarks._rows import FULL, rows_file
from benchmarks._runs import run
from benchmarks.bare_task import bare
from misstep.evals.processbench import processbench
from tests.support.rows import critique_of

TARGET = 1.5


def measure() -> Iterator[Measurement]:
    """Yield the peak memory of a run, relative to Inspect's own."""
    ours, bare = _megabytes("processbench"), _megabytes("bare")
    note = f"{ours:.0f} MB, Inspect alone {bare:.0f} MB, {FULL:,} samples"
    yield Measurement("peak memory of a run", ours / bare, "times", TARGET, note)


def _megabytes(task: str) -> float:
    return program([sys.executable, "-m", "benchmarks.memory", task]).megabytes


def _model() -> Model:
    # Without a usage, Inspect downloads a tokenizer to count tokens.
    usage = ModelUsage(input_tokens=700, output_tokens=400, total_tokens=1100)
    reply = critique_of(0)

    def answer(*_: Any) -> ModelOutput:  # noqa: ANN401
        output = ModelOutput.from_content("mockllm/model", reply)
        output.usage = usage
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def main(task: str) -> None:
    """Run one of the two tasks."""
    with rows_file(FULL) as path:
        run(processbench(source=str(path)) if task == "processbench" else bare(str(path)), _model())


if __name__ == "__main__":
    main(sys.argv[1])
