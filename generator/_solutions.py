"""Solutions, one after the other, each depending on its seed and index alone."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import floor
from random import Random

from misstep.generator._draft import Draft, draw
from misstep.generator._facts import VERSION
from misstep.generator._graph import DeadEndError
from misstep.generator._settings import Settings, check_count, settings_of
from misstep.generator._solution import Solution, solution_of
from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError

ATTEMPTS = 2000
"""Far more draws than any setting was seen to need."""


def solutions(
    seed: int,
    n: int,
    *,
    steps: int | str = "6-12",
    position: str = "any",
    error_types: str | Sequence[str] | None = None,
    families: str | Sequence[str] | None = None,
    difficulty: int = 2,
    correct_share: float = 0.5,
) -> Iterator[Solution]:
    """Generate worked solutions. The first of many are the same as those of few.

    Args:
        seed: The same seed and settings give the same solutions, on every machine.
        n: How many.
        steps: A number of steps, or a range such as 6-12.
        position: The third in which errors stand: any, early, middle or late.
        error_types: One or several of ERROR_TYPES; all where it is left out.
        families: One or several of FAMILIES; all where it is left out.
        difficulty: From 1 to 3.
        correct_share: The share of solutions without an error.

    Raises:
        MisstepError: A value that is not allowed.
    """
    settings = settings_of(steps, position, error_types, families, difficulty, correct_share)
    count, start = check_count("n", n, 1), check_count("seed", seed, 0)
    return (solution(start, index, settings) for index in range(count))


def solution(seed: int, index: int, settings: Settings) -> Solution:
    """The solution of one index.

    Raises:
        MisstepError: No solution is to be had with these settings.
    """
    family = _family_order(seed, index // len(settings.families), settings.families)[
        index % len(settings.families)
    ]
    random = _random(seed, index, family)
    draft = _draft(random, family, settings)
    name = f"procedural-{VERSION}-{seed}-{index:06}"
    return solution_of(draft, random, name, family, _errs(seed, index, settings.correct_share))


def _random(*parts: object) -> Random:
    return Random("/".join(map(str, (VERSION, *parts))))  # noqa: S311 (not a secret)


@lru_cache(maxsize=64)
def _family_order(seed: int, block: int, families: tuple[str, ...]) -> list[str]:
    """Every family once a block, so that few rows hold all of them."""
    order = list(families)
    _random(seed, "families", block).shuffle(order)
    return order


def _errs(seed: int, index: int, correct_share: float) -> bool:
    """Whether the error is shown: evenly spread, so that few rows have the share too."""
    start = _random(seed, "share").random()
    right = floor(start + (index + 1) * correct_share) - floor(start + index * correct_share)
    return right == 0


def _draft(random: Random, family: str, settings: Settings) -> Draft:
    steps = random.randrange(settings.shortest, settings.longest + 1)
    for _ in range(ATTEMPTS):
        try:
            return draw(
                random,
                FAMILIES[family].build,
                steps,
                settings.difficulty,
                settings.error_types,
                settings.position,
            )
        except DeadEndError:
            continue
    raise MisstepError(
        f"No solution of the family {family!r} with {steps} steps was found whose error is one of "
        f"{', '.join(settings.error_types)} and stands {settings.position}. Allow more error "
        "types, other positions or other lengths."
    )
