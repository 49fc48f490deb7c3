"""Statistics of a set of rows, for `misstep data check`."""

from collections import Counter
from dataclasses import dataclass
from statistics import mean, median

from misstep.loaders._first_error import FirstErrorRow
from misstep.verdicts import NO_ERROR


@dataclass(frozen=True)
class Spread:
    """The range, median and mean of a quantity."""

    least: int
    median: float
    mean: float
    greatest: int


@dataclass(frozen=True)
class Summary:
    """Statistics of a set of rows."""

    rows: int
    errors: int
    subsets: dict[str, int]
    steps: Spread
    characters: Spread
    labels: dict[int, int]
    """The number of rows by the index of the first error; -1 means no error."""
    control_characters: list[str]
    """Problems and steps with a control character, usually caused by a lost backslash."""


def summary_of(rows: list[FirstErrorRow]) -> Summary:
    """Return the statistics of at least one row."""
    return Summary(
        rows=len(rows),
        errors=sum(row.label != NO_ERROR for row in rows),
        subsets=dict(Counter(row.subset for row in rows if row.subset)),
        steps=_spread([len(row.steps) for row in rows]),
        characters=_spread([len(row.problem) + sum(map(len, row.steps)) for row in rows]),
        labels=dict(sorted(Counter(row.label for row in rows).items())),
        control_characters=[place for row in rows for place in _control_characters(row)],
    )


def _spread(values: list[int]) -> Spread:
    return Spread(min(values), median(values), mean(values), max(values))


def _control_characters(row: FirstErrorRow) -> list[str]:
    texts = {"problem": row.problem} | {f"steps[{i}]": step for i, step in enumerate(row.steps)}
    return [
        f"{row.id}: {field} contains {char!r}"
        for field, text in texts.items()
        for char in sorted({c for c in text if ord(c) < 32 and c not in "\n\t\r"})
    ]
