"""The task that injects errors, and its scorer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import EvalSample
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState
from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

from misstep.forge._draw import (
    BuildSettings,
    draw_solutions,
    injection_samples,
    read_error_types,
    source_rows,
)
from misstep.forge._example import Example
from misstep.forge._inject import InjectionRecord, InjectionResult, inject
from misstep.registry import MisstepError
from misstep.scorers import share

VERSION = 2

VIEW = ViewerConfig(
    task_samples_view=TaskSamplesView(
        name="Injections",
        columns=[
            TaskSamplesColumn(id="sampleId"),
            TaskSamplesColumn(id="answer"),
            TaskSamplesColumn.score("accepted"),
            TaskSamplesColumn(id="tokens"),
            TaskSamplesColumn(id="error"),
        ],
        sort=[TaskSamplesSort.score("accepted", dir="desc")],
        score_labels={"accepted": "Accepted"},
        multiline=False,
    )
)


def injection_task(dataset: MemoryDataset, settings: BuildSettings) -> Task:
    """Return the task that injects errors into samples."""
    return Task(
        name="injection",
        dataset=dataset,
        solver=inject(
            settings.max_attempts,
            settings.temperature,
            settings.max_tokens,
            settings.seed,
            settings.late_fraction,
            settings.votes,
        ),
        scorer=accepted(),
        viewer=VIEW,
        version=VERSION,
    )


@task
def injection(
    source: str = "numinamath",
    num_examples: int = 1000,
    min_steps: int = 8,
    injection_rate: float = 0.7,
    late_fraction: float = 0.25,
    temperature: float = 0.7,
    seed: int = 42,
    error_types: str | None = None,
    max_tokens: int = 8192,
    max_attempts: int = 3,
    votes: int = 3,
) -> Task:
    """Inject late logical errors into worked solutions. Needs the model role `injector`.

    `misstep forge build` runs this task and writes the files.

    Args:
        source: A registered corpus, or a file with `problem` and `solution`.
        num_examples: The number of solutions to draw.
        min_steps: The smallest number of steps of a solution.
        injection_rate: The share of solutions that get an error. The others stay untouched.
        late_fraction: The part of the solution, from its end, that gets the error.
        temperature: The temperature of the injector.
        seed: The seed of the draw and of the injector.
        error_types: Comma-separated error types. With weights (`a=2,b=1`), one is drawn for each
            solution.
        max_tokens: The token limit of a reply.
        max_attempts: The number of attempts for each solution.
        votes: The blind votes of the model role `reviewer` on each original and each error. 0: no
            review.
    """
    settings = BuildSettings(
        num_examples=num_examples,
        min_steps=min_steps,
        injection_rate=injection_rate,
        late_fraction=late_fraction,
        seed=seed,
        error_types=read_error_types(error_types),
        temperature=temperature,
        max_tokens=max_tokens,
        max_attempts=max_attempts,
        votes=votes,
    )
    draw = draw_solutions(source_rows(source, settings), settings)
    return injection_task(injection_samples(draw.chosen, settings), settings)


_result_handlers: list[Callable[[InjectionResult], None]] = []


@contextmanager
def on_result(handler: Callable[[InjectionResult], None]) -> Iterator[None]:
    """Call a function with every result inside the `with` block."""
    _result_handlers.append(handler)
    try:
        yield
    finally:
        _result_handlers.remove(handler)


@metric(name="acceptance")
def acceptance() -> Metric:
    """The share of accepted samples, with its interval."""
    to_float = value_to_float()

    def compute(scores: list[SampleScore]) -> Value:
        hits = [to_float(score.score.value) for score in scores]
        rate = share(hits)
        return {
            "accepted": rate.value,
            "accepted_count": sum(hits),
            "rejected_count": len(hits) - sum(hits),
            "total_count": len(hits),
            "accepted_lower": rate.lower,
            "accepted_upper": rate.upper,
        }

    return compute


@scorer(metrics=[acceptance()])
def accepted() -> Scorer:
    """Whether a sample has an accepted example, which is in the sample's store."""

    async def score(state: TaskState, target: Target) -> Score:
        result = state.store_as(InjectionRecord).result
        if result is None:
            raise MisstepError(
                "The sample has no result of an injection: `accepted` scores what the solver "
                "`inject` leaves."
            )
        for handler in _result_handlers:
            handler(result)
        names = ", ".join(reject.name for reject in result.rejects)
        return Score(
            value=CORRECT if result.example else INCORRECT,
            answer="accepted" if result.example else names,
            explanation=_explanation(result),
            metadata={
                "rejects": [asdict(reject) for reject in result.rejects],
                "attempts": result.attempts,
                "spent": asdict(result.spent),
            },
        )

    return score


def _explanation(result: InjectionResult) -> str:
    if result.example is None:
        return "\n".join(f"- {reject.name}: {reject.detail}" for reject in result.rejects)
    example = result.example
    if example["error_type"] is None:
        return "Left untouched."
    return (
        f"Step {example['label']}, {example['error_type']}, after {result.attempts} attempts: "
        f"{example['what_changed']}"
    )


def logged_example(sample: EvalSample) -> Example | None:
    """Return the accepted example of a sample in a log, or None if it was rejected."""
    kept = sample.store_as(InjectionRecord).result
    if kept is None or kept.example is None:
        return None
    from_sample = {"problem": sample.input, "original_steps": sample.metadata["steps"]}
    return Example.model_validate({**kept.example, **from_sample})
