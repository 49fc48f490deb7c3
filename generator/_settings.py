"""The settings of the generator."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from misstep.generator._draft import HARD
from misstep.generator._remarks import INFERENCES
from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError, UnknownNameError

SHORT, LONG = (4, 24), (40, 200)
"""The smallest and the largest number of steps, of short solutions and of long ones."""
DEFAULT_STEPS = {1: (6, 12), 2: (6, 12), 3: (6, 12), 4: (40, 80), 5: (80, 160)}
"""The range of the number of steps by difficulty, if none is given."""
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
    *INFERENCES,
)


@dataclass(frozen=True)
class Settings:
    """Checked settings of the generator."""

    steps: Mapping[int, tuple[int, int]]
    """The smallest and the largest number of steps, by difficulty."""
    position: str
    error_types: tuple[str, ...]
    families: tuple[str, ...]
    correct_share: float

    @property
    def difficulties(self) -> list[int]:
        """The difficulties, of which every row draws one."""
        return list(self.steps)


def settings_of(
    steps: int | str | None = None,
    position: str = "any",
    error_types: str | Sequence[str] | None = None,
    families: str | Sequence[str] | None = None,
    difficulty: int | str | Sequence[int] = 2,
    correct_share: float = 0.5,
) -> Settings:
    """Check the settings of the generator."""
    difficulties = _difficulties(difficulty)
    ranges = {each: _range(steps, each) for each in difficulties}
    if position not in POSITIONS:
        raise UnknownNameError("position", position, POSITIONS)
    wanted = _names("error type", error_types, ERROR_TYPES)
    chosen = _names("family", families, FAMILIES)
    short = min(difficulties) < HARD
    able = tuple(name for name in chosen if _allowed(name, wanted, position, short))
    if families is not None and len(able) < len(chosen):
        unable = next(name for name in chosen if name not in able)
        allowed = ", ".join(_allowed(unable, ERROR_TYPES, position, short))
        raise MisstepError(
            f"error_types={','.join(wanted)}, position={position}: the family {unable!r} has no "
            f"such errors. Allowed there: {allowed}. Leave out the family or name one of its error "
            "types."
        )
    if not able:
        raise MisstepError(
            f"error_types={','.join(wanted)}: no family has such errors at difficulty "
            f"{min(difficulties)}. Invalid inferences ({', '.join(INFERENCES)}) are in long "
            "solutions: difficulty=4 or 5."
        )
    if not isinstance(correct_share, int | float) or not 0 <= correct_share <= 1:
        raise MisstepError(
            f"correct_share={correct_share!r}: must be a share from 0 (every solution has an "
            "error) to 1 (none has), such as 0.5."
        )
    return Settings(ranges, position, wanted, able, correct_share)


def check_count(name: str, value: object, least: int) -> int:
    """Return a value if it is a whole number that is large enough, or raise MisstepError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise MisstepError(f"{name}={value!r}: must be a whole number from {least}.")
    return value


def _allowed(family: str, error_types: Iterable[str], position: str, short: bool) -> list[str]:
    return [
        name
        for name in error_types
        if FAMILIES[family].allows(name, position) or (name in INFERENCES and not short)
    ]


def _difficulties(given: int | str | Sequence[int]) -> list[int]:
    parts = given.split(",") if isinstance(given, str) else given
    wanted = [str(part).strip() for part in ([parts] if isinstance(parts, int) else parts)]
    if not wanted or any(part not in map(str, DEFAULT_STEPS) for part in wanted):
        raise MisstepError(
            f"difficulty={given!r}: allowed are 1, 2, 3 (short solutions), 4, 5 (long ones), or "
            "several with commas, such as 4,5."
        )
    return sorted({int(part) for part in wanted})


def _range(steps: int | str | None, difficulty: int) -> tuple[int, int]:
    if steps is None:
        return DEFAULT_STEPS[difficulty]
    least, most = SHORT if difficulty < HARD else LONG
    found = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", str(steps))
    if found:
        low = int(found[1])
        high = int(found[2] or low)
        if least <= low <= high <= most:
            return low, high
    raise MisstepError(
        f"steps={steps!r}: must be a number from {least} to {most} at difficulty {difficulty}, or "
        f"a range such as {least + 2}-{least * 3}."
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
