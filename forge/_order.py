"""What is to be built: the settings of a build, and what each sample asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappush, heappushpop
from random import Random

from inspect_ai.dataset import MemoryDataset, Sample

from misstep.forge._record import LATE_FRACTION
from misstep.forge._worked import MIN_STEPS, Worked, examine
from misstep.loaders import RawRow
from misstep.registry import MisstepError, UnknownNameError, taxonomy


@dataclass(frozen=True)
class Order:
    """The settings of a build."""

    num_examples: int = 1000
    min_steps: int = MIN_STEPS
    injection_rate: float = 1.0
    late_fraction: float = LATE_FRACTION
    seed: int = 42
    error_types: Mapping[str, float] = field(default_factory=dict)
    """The types to ask for, with weights; empty leaves the choice to the injector."""
    temperature: float = 0.7
    max_tokens: int = 8192
    max_attempts: int = 3
    """How often an injector is asked, each time with what was wrong before."""
    reviewed: bool = False

    def __post_init__(self) -> None:
        for name in self.error_types:
            if name not in taxonomy():
                raise UnknownNameError("error type", name, taxonomy())
        if self.error_types and not sum(self.error_types.values()) > 0:
            raise MisstepError("--error-types: the weights add up to nothing.")

    @property
    def allowed(self) -> list[str]:
        """The types that an error may be of."""
        return [name for name in taxonomy() if not self.error_types or self.error_types.get(name)]


def read_mix(text: str | None) -> dict[str, float]:
    """Types with commas between them, each perhaps with a weight: `a=2,b=1`.

    Raises:
        MisstepError: A weight that is none.
    """
    mix: dict[str, float] = {}
    for part in (text or "").split(","):
        name, _, weight = part.strip().partition("=")
        if not name:
            continue
        try:
            mix[name] = float(weight or 1)
        except ValueError:
            mix[name] = -1.0
        if not 0 <= mix[name] < float("inf"):
            raise MisstepError(f"--error-types {part.strip()}: a weight is a number from 0 on.")
    return mix


def _draw(*parts: object) -> bytes:
    """A number for each row that depends on it and the seed alone, not on its neighbours."""
    return blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()


@dataclass
class Drawn:
    """The solutions that were drawn from a corpus, and why others could not be."""

    chosen: list[Worked]
    """In the order of their ids."""
    rows: int = 0
    usable: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


def draw_solutions(rows: Iterable[RawRow], order: Order) -> Drawn:
    """Draw as many usable solutions as are wanted, each as likely as the other.

    The corpus goes by once, and only those drawn so far are held.
    """
    drawn = Drawn([])
    held: list[tuple[bytes, str, Worked]] = []
    ids: set[str] = set()
    for number, row in rows:
        drawn.rows += 1
        found = examine(number, row, order.min_steps).found
        reason = None if isinstance(found, Worked) else str(found)
        if isinstance(found, Worked) and found.id in ids:
            reason = "duplicate_id"
        if reason is not None or not isinstance(found, Worked):
            drawn.left_out[str(reason)] = drawn.left_out.get(str(reason), 0) + 1
            continue
        drawn.usable += 1
        # The largest goes: turned round, since a heap gives up its smallest.
        rank = bytes(255 - byte for byte in _draw(order.seed, "draw", found.id))
        entry = (rank, found.id, found)
        if len(held) < order.num_examples:
            heappush(held, entry)
            ids.add(found.id)
        elif entry[:2] > held[0][:2]:
            ids.discard(heappushpop(held, entry)[1])
            ids.add(found.id)
    drawn.chosen = sorted((found for _, _, found in held), key=lambda found: found.id)
    return drawn


def samples_of(chosen: Iterable[Worked], order: Order) -> MemoryDataset:
    """The samples of a build: what to inject an error into, and what to leave untouched."""
    solutions = list(chosen)
    by_lot = sorted(solutions, key=lambda one: _draw(order.seed, "untouched", one.id))
    count = round((1 - order.injection_rate) * len(solutions))
    untouched = {one.id for one in by_lot[:count]}
    samples = [
        Sample(
            id=one.id,
            input=one.problem,
            metadata={
                "steps": one.steps,
                "answer": one.answer,
                "source": one.source,
                "inject": one.id not in untouched,
                "error_types": _types(one.id, order),
            },
        )
        for one in solutions
    ]
    return MemoryDataset(samples, name="worked solutions")


def _types(name: str, order: Order) -> list[str]:
    """One type drawn by its weight, where there are weights, else all that are allowed."""
    weights = {kind: weight for kind, weight in order.error_types.items() if weight}
    if len(set(weights.values())) < 2:
        return order.allowed
    random = Random(_draw(order.seed, "type", name))  # noqa: S311 (not a secret)
    return random.choices(list(weights), weights=list(weights.values()))
