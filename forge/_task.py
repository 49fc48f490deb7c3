"""The task that injects errors: its settings, the solutions it draws from a corpus, its scorer."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from heapq import heappush, heappushpop
from random import Random

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
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

from misstep.forge._checks import late_start
from misstep.forge._example import LATE_FRACTION, Example, SolutionToInject
from misstep.forge._inject import InjectionRecord, InjectionResult, inject
from misstep.forge._offline import OFFLINE, known_solution, offline_rows
from misstep.forge._solutions import MIN_STEPS, WorkedSolution, examine_row
from misstep.loaders import RawRow, corpus_rows
from misstep.registry import MisstepError, UnknownNameError, taxonomy
from misstep.scorers import share


@dataclass(frozen=True)
class BuildSettings:
    """The settings of a build that decide its result."""

    num_examples: int = 1000
    min_steps: int = MIN_STEPS
    injection_rate: float = 0.7
    late_fraction: float = LATE_FRACTION
    seed: int = 42
    error_types: Mapping[str, float] = field(default_factory=dict)
    """The error types to ask for, with weights. If empty, the injector chooses."""
    temperature: float = 0.7
    max_tokens: int = 8192
    max_attempts: int = 3
    """The number of attempts for each solution. Each attempt names the failures before it."""
    votes: int = 3
    """The number of reviewers for each solution. Without votes there is no review."""

    def __post_init__(self) -> None:
        for name in self.error_types:
            if name not in taxonomy():
                raise UnknownNameError("error type", name, taxonomy())
        if self.error_types and not sum(self.error_types.values()) > 0:
            raise MisstepError("--error-types: all weights are 0; give one a weight above 0.")

    @property
    def allowed_types(self) -> list[str]:
        """The error types that an injector may use."""
        return [name for name in taxonomy() if not self.error_types or self.error_types.get(name)]


def read_error_types(text: str | None) -> dict[str, float]:
    """Return the weights of error types from text such as `a=2,b=1` or `a,b`."""
    weights: dict[str, float] = {}
    for part in (text or "").split(","):
        name, _, weight = part.strip().partition("=")
        if not name:
            continue
        try:
            weights[name] = float(weight or 1)
        except ValueError:
            weights[name] = -1.0
        if not 0 <= weights[name] < float("inf"):
            raise MisstepError(
                f"--error-types {part.strip()}: a weight is a number from 0, such as {name}=2."
            )
    return weights


def source_rows(source: str, settings: BuildSettings) -> Iterator[RawRow]:
    """Return the rows of a source: a registered corpus, a file, or `offline`."""
    if source == OFFLINE:
        return offline_rows(
            settings.seed, settings.allowed_types, settings.num_examples, settings.late_fraction
        )
    return corpus_rows(source)


@dataclass
class SolutionDraw:
    """The solutions that were drawn from a corpus, and why others were left out."""

    chosen: list[WorkedSolution] = field(default_factory=list)
    """Sorted by id."""
    rows: int = 0
    usable: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def draw_solutions(rows: Iterable[RawRow], settings: BuildSettings) -> SolutionDraw:
    """Draw usable solutions, each with the same probability.

    The corpus is read once, and only the solutions drawn so far are in memory.
    """
    draw = SolutionDraw()
    heap: list[tuple[bytes, str, WorkedSolution]] = []
    ids: set[str] = set()
    for number, row in rows:
        draw.rows += 1
        found = examine_row(number, row, settings.min_steps).result
        if not isinstance(found, WorkedSolution):
            draw.left_out[str(found)] += 1
            continue
        if found.id in ids:
            draw.left_out["duplicate_id"] += 1
            continue
        draw.usable += 1
        # The heap drops its smallest entry, so the bytes are inverted to keep the smallest ranks.
        rank = bytes(255 - byte for byte in _random_bytes(settings.seed, "draw", found.id))
        entry = (rank, found.id, found)
        if len(heap) < settings.num_examples:
            heappush(heap, entry)
            ids.add(found.id)
        elif entry[:2] > heap[0][:2]:
            ids.discard(heappushpop(heap, entry)[1])
            ids.add(found.id)
    draw.chosen = sorted((found for _, _, found in heap), key=lambda found: found.id)
    return draw


def _random_bytes(*parts: object) -> bytes:
    """Return bytes that depend on the parts only, so that a row's draw ignores other rows."""
    return blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()


def injection_samples(solutions: list[WorkedSolution], settings: BuildSettings) -> MemoryDataset:
    """Return the samples of a build: most get an error, the others stay untouched."""
    shuffled = sorted(solutions, key=lambda one: _random_bytes(settings.seed, "untouched", one.id))
    untouched = {
        one.id for one in shuffled[: round((1 - settings.injection_rate) * len(solutions))]
    }
    samples = [
        Sample(
            id=one.id,
            input=one.problem,
            metadata=SolutionToInject(
                steps=one.steps,
                answer=one.answer,
                source=one.source,
                inject=one.id not in untouched,
                target=_target_step(one, settings),
                error_types=_sample_types(one.id, settings),
            ).model_dump(),
        )
        for one in solutions
    ]
    return MemoryDataset(samples, name="worked solutions")


def _target_step(one: WorkedSolution, settings: BuildSettings) -> int:
    """Return the step that gets the error, drawn from the late part of the solution."""
    if known := known_solution(one.id):
        return known.label
    random = Random(_random_bytes(settings.seed, "target", one.id))  # noqa: S311 (not a secret)
    return random.randrange(late_start(len(one.steps), settings.late_fraction), len(one.steps))


def _sample_types(sample_id: str, settings: BuildSettings) -> list[str]:
    """Return one type drawn by weight, or all allowed types if the weights are equal."""
    weights = {name: weight for name, weight in settings.error_types.items() if weight}
    if len(set(weights.values())) < 2:
        return settings.allowed_types
    random = Random(_random_bytes(settings.seed, "type", sample_id))  # noqa: S311 (not a secret)
    return random.choices(list(weights), weights=list(weights.values()))


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
    solution = sample.metadata_as(SolutionToInject)
    from_sample = {"problem": sample.input, "original_steps": solution.steps}
    return Example.model_validate({**kept.example, **from_sample})
