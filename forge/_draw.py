"""The settings of a build, and the solutions that it draws from a corpus."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappush, heappushpop
from random import Random

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.forge._checks import late_start
from misstep.forge._example import LATE_FRACTION
from misstep.forge._offline import OFFLINE, known_solution, offline_rows
from misstep.forge._solutions import MIN_STEPS, WorkedSolution, examine_row
from misstep.loaders import RawRow, corpus_rows
from misstep.registry import MisstepError, UnknownNameError, taxonomy


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
            metadata={
                "steps": one.steps,
                "answer": one.answer,
                "source": one.source,
                "inject": one.id not in untouched,
                "target": _target_step(one, settings),
                "error_types": _sample_types(one.id, settings),
            },
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
