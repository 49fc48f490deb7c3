"""Scoring as many replies as ProcessBench has samples, with all metrics and intervals."""

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import cast

from inspect_ai.dataset import Sample
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import SampleScore, Scorer, Target, Value
from inspect_ai.solver import TaskState

from benchmarks._measurement import Measurement, quickest
from benchmarks._rows import FULL, critique_of, rows_file
from misstep.loaders import first_error_dataset
from misstep.scorers import first_error, first_error_lenient, first_error_metrics

TARGET = 0.5


def measure() -> Iterator[Measurement]:
    """The time of both readings: votes, scores, metrics with their bootstrap."""
    with rows_file(FULL) as path:
        samples = first_error_dataset(str(path))
    generator = Random(0)
    states = [_state(sample, generator) for sample in samples]
    # Its declared type is of metrics over any scores.
    metrics = cast(Callable[[list[SampleScore]], Value], first_error_metrics())

    def score() -> None:
        for scorer in (first_error(), first_error_lenient()):
            metrics(asyncio.run(_scores(scorer, states)))

    value = quickest(score)
    note = f"{len(states):,} replies, strict and lenient"
    yield Measurement("score with intervals", value, "s", TARGET, note)


def _state(sample: Sample, generator: Random) -> TaskState:
    metadata = sample.metadata or {}
    reply = critique_of(generator.choice([metadata["label"], -1, 0]))
    return TaskState(
        model=ModelName("mockllm/model"),
        sample_id=sample.id or "",
        epoch=1,
        input=sample.input,
        messages=[],
        target=Target(sample.target),
        output=ModelOutput.from_content("mockllm/model", reply),
        metadata=metadata,
    )


async def _scores(scorer: Scorer, states: list[TaskState]) -> list[SampleScore]:
    scores = []
    for state in states:
        score = await scorer(state, state.target)
        assert score is not None  # noqa: S101 (for the type checker)
        scores.append(SampleScore(score=score, sample_metadata=state.metadata))
    return scores
