"""How first-error detection depends on where an error stands, and on what it is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

from misstep.generator import ERROR_TYPES
from misstep.reports._samples import Finding, Judged
from misstep.samples import third_of
from misstep.scorers import Estimate, share

MANY = 6
"""So many dependants and more are one group."""

SHUFFLES = 2000
SEED = 42

Group = str | int


@dataclass(frozen=True)
class Dimension:
    """Something that detection may depend on."""

    name: str
    title: str
    group: Callable[[Judged], Group]
    order: Callable[[Group], int | str]
    errors: bool = True
    """Whether it is about rows with an error, and about those without one otherwise."""


def _dependants(judged: Judged) -> Group:
    count = int(judged.metadata["dependants"])
    return f"{MANY} or more" if count >= MANY else str(count)


THIRDS = ("early", "middle", "late")

DIMENSIONS = (
    Dimension("step", "Index of the wrong step", lambda j: j.label, int),
    Dimension(
        "third",
        "Third of the solution",
        lambda j: third_of(j.label, int(j.metadata["length"])),
        lambda group: THIRDS.index(str(group)),
    ),
    Dimension("length", "Number of steps", lambda j: int(j.metadata["length"]), int),
    Dimension(
        "error_type",
        "Type of error",
        lambda j: str(j.metadata["error_type"]),
        lambda group: ERROR_TYPES.index(str(group)),
    ),
    Dimension("dependants", "Steps that depend on the error", _dependants, str),
    Dimension(
        "false_alarms",
        "Number of steps (rows without an error)",
        lambda j: int(j.metadata["length"]),
        int,
        errors=False,
    ),
)


@dataclass(frozen=True)
class Cell:
    """What a critic said of the rows of one group."""

    critic: str
    dimension: str
    group: Group
    findings: Counter[Finding]
    counts: Finding

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.findings.total()

    @property
    def counted(self) -> int:
        """Exact hits among rows with an error, false alarms among those without."""
        return self.findings[self.counts]

    @property
    def rate(self) -> Estimate:
        """The share of what is counted, with its interval."""
        return share([1.0] * self.counted + [0.0] * (self.rows - self.counted))


def critics_of(table: Sequence[Judged]) -> list[str]:
    """Who judged, in the order of the table."""
    return list(dict.fromkeys(judged.critic for judged in table))


def cells(table: Sequence[Judged], dimension: Dimension) -> list[Cell]:
    """The figures of every critic in every group."""
    rows = [judged for judged in table if judged.has_error == dimension.errors]
    groups = sorted({dimension.group(judged) for judged in rows}, key=dimension.order)
    counted: dict[tuple[str, Group], Counter[Finding]] = {}
    for judged in rows:
        counted.setdefault((judged.critic, dimension.group(judged)), Counter())[judged.finding] += 1
    counts: Finding = "exact" if dimension.errors else "false_alarm"
    return [
        Cell(critic, dimension.name, group, findings, counts)
        for critic in critics_of(table)
        for group in groups
        if (findings := counted.get((critic, group)))
    ]


def dependence(found: Sequence[Cell], critic: str) -> float:
    """How often chance alone would make the groups differ as much as they do.

    A permutation test of the chi-squared statistic: what was counted is dealt out to the rows
    anew, whatever their group, and the deals that differ as much are counted.

    Returns:
        The p-value, nan where all rows were judged alike or there is one group.
    """
    import numpy as np

    own = [cell for cell in found if cell.critic == critic]
    sizes = np.array([cell.rows for cell in own])
    counted = np.array([cell.counted for cell in own])
    total, positive = int(sizes.sum()), int(counted.sum())
    if len(own) < 2 or positive in (0, total):
        return nan
    expected = sizes * positive / total
    weight = 1 / expected + 1 / (sizes - expected)
    dealt = np.random.default_rng(SEED).multivariate_hypergeometric(sizes, positive, SHUFFLES)
    as_far = ((dealt - expected) ** 2 @ weight) >= ((counted - expected) ** 2 @ weight) - 1e-9
    return float((as_far.sum() + 1) / (SHUFFLES + 1))
