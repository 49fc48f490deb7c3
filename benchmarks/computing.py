"""Work without a model, at ProcessBench's size: load, generate, score, sweep thresholds."""

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import cast

from inspect_ai.dataset import Sample
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import SampleScore, Scorer, Target, Value
from inspect_ai.solver import TaskState

from benchmarks._measurement import TIMES, Measurement, quickest
from benchmarks._rows import FULL, rows_file
from misstep.generator import FAMILIES, solutions
from misstep.loaders import first_error_dataset
from misstep.reports import RewardRow, ThresholdCurve
from misstep.scorers import first_error, first_error_lenient, first_error_metrics
from tests.support.rows import critique_of

SOLUTIONS = 1300


def measure() -> Iterator[Measurement]:
    """Yield all measurements."""
    yield _loading()
    yield _generating()
    yield _generating_long()
    yield _scoring()
    yield _thresholds()


def _loading() -> Measurement:
    with rows_file(FULL) as path:
        value = quickest(lambda: first_error_dataset(str(path)))
    return Measurement("load and check rows", value, "s", 1.0, f"{FULL:,} rows")


def _generating() -> Measurement:
    value = quickest(lambda: list(solutions(7, SOLUTIONS))) / SOLUTIONS * 1000
    note = f"{SOLUTIONS:,} solutions of {len(FAMILIES)} families, the fastest of {TIMES} runs"
    return Measurement("generate a solution", value, "ms", 1.0, note)


def _generating_long() -> Measurement:
    rows = SOLUTIONS // 10
    value = quickest(lambda: list(solutions(7, rows, difficulty="4,5"))) / rows * 1000
    note = f"{rows} solutions of difficulty 4 and 5, the fastest of {TIMES} runs"
    return Measurement("generate a long solution", value, "ms", 10.0, note)


def _scoring() -> Measurement:
    """Return the time of the strict and the lenient scores, with metrics and intervals."""
    with rows_file(FULL) as path:
        samples = first_error_dataset(str(path))
    generator = Random(0)
    states = [_state(sample, generator) for sample in samples]
    # Inspect declares the type of metrics for scores of any kind.
    metrics = cast(Callable[[list[SampleScore]], Value], first_error_metrics())

    def score() -> None:
        for scorer in (first_error(), first_error_lenient()):
            metrics(asyncio.run(_scores(scorer, states)))

    note = f"{len(states):,} replies, strict and lenient"
    return Measurement("score with intervals", quickest(score), "s", 0.5, note)


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


def _thresholds() -> Measurement:
    """Return the time of all thresholds, with F1, precision, recall and calibration."""
    random = Random(0)
    rows = []
    for i in range(FULL):
        rewards = [random.random() for _ in range(random.randint(2, 12))]
        rows.append(RewardRow(str(i), "s", random.randrange(-1, len(rewards)), rewards))

    def sweep() -> None:
        curve = ThresholdCurve(rows)
        curve.best()
        curve.steps.precision_and_recall(curve.thresholds)
        curve.steps.calibration()

    note = f"{FULL:,} samples, every observed reward, with precision, recall and calibration"
    return Measurement("sweep the threshold of rewards", quickest(sweep), "s", 0.2, note)
