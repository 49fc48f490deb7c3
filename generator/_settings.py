"""The settings of the generator."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError, UnknownNameError

STEPS = (4, 24)
"""The smallest and the largest number of steps."""
DIFFICULTIES = (1, 2, 3)
POSITIONS = ("any", "early", "middle", "late")
"""The third of a solution in which errors stand."""
ERROR_TYPES = (
    "wrong_operation",
    "sign",
    "dropped_case",
    "misread",
    "unit",
    "off_by_one",
    "swapped_roles",
    "overgeneralisation",
    "condition",
)


@dataclass(frozen=True)
class Settings:
    """Checked settings of the generator."""

    shortest: int
    longest: int
    position: str
    error_types: tuple[str, ...]
    families: tuple[str, ...]
    difficulty: int
    correct_share: float


def settings_of(
    steps: int | str = "6-12",
    position: str = "any",
    error_types: str | Sequence[str] | None = None,
    families: str | Sequence[str] | None = None,
    difficulty: int = 2,
    correct_share: float = 0.5,
) -> Settings:
    """Check the settings of the generator."""
    shortest, longest = _range(steps)
    if position not in POSITIONS:
        raise UnknownNameError("position", position, POSITIONS)
    wanted = _names("error type", error_types, ERROR_TYPES)
    chosen = _names("family", families, FAMILIES)
    able = tuple(name for name in chosen if _allowed(name, wanted, position))
    if families is not None and len(able) < len(chosen):
        unable = next(name for name in chosen if name not in able)
        allowed = ", ".join(_allowed(unable, ERROR_TYPES, position))
        raise MisstepError(
            f"error_types={','.join(wanted)}, position={position}: the family {unable!r} has no "
            f"such errors. Allowed there: {allowed}. Leave out the family or name one of its error "
            "types."
        )
    if difficulty not in DIFFICULTIES:
        raise MisstepError(f"difficulty={difficulty!r}: allowed are 1, 2 and 3.")
    if not isinstance(correct_share, int | float) or not 0 <= correct_share <= 1:
        raise MisstepError(
            f"correct_share={correct_share!r}: must be a share from 0 (every solution has an "
            "error) to 1 (none has), such as 0.5."
        )
    return Settings(shortest, longest, position, wanted, able, int(difficulty), correct_share)


def check_count(name: str, value: object, least: int) -> int:
    """Return a value if it is a whole number that is large enough, or raise MisstepError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise MisstepError(f"{name}={value!r}: must be a whole number from {least}.")
    return value


def _allowed(family: str, error_types: Iterable[str], position: str) -> list[str]:
    return [name for name in error_types if FAMILIES[family].allows(name, position)]


def _range(steps: int | str) -> tuple[int, int]:
    least, most = STEPS
    found = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", str(steps))
    if found:
        low = int(found[1])
        high = int(found[2] or low)
        if least <= low <= high <= most:
            return low, high
    raise MisstepError(
        f"steps={steps!r}: must be a number from {least} to {most}, or a range such as 6-12."
    )


def _names(kind: str, given: str | Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Return names from a list or a comma-separated text, in the order of the known names."""
    allowed = list(known)
    if given is None:
        return tuple(allowed)
    parts = given.split(",") if isinstance(given, str) else given
    names = [str(name).strip() for name in parts]
    for name in names or [""]:
        if name not in allowed:
            raise UnknownNameError(kind, name, allowed)
    return tuple(name for name in allowed if name in names)
