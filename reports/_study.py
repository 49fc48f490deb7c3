"""How first-error detection depends on the position and the type of an error."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

from misstep.generator import ERROR_TYPES
from misstep.reports._runs import Run
from misstep.reports._samples import Finding, SampleRecord, ScoreRecord
from misstep.samples import third_of
from misstep.scorers import Estimate, share

MANY = 6
"""Errors with this many dependants or more are one group."""
LONG = 25
"""Larger lengths and indices are grouped by tens."""
DISTANCES = (0, 1, 2, 4, 8, 16, 32)
"""The smallest distance of each group."""

SHUFFLES = 2000
SEED = 42

Group = str | int


@dataclass(frozen=True)
class CriticSample:
    """A sample and the verdict of a critic."""

    critic: str
    sample: SampleRecord
    score: ScoreRecord

    @property
    def finding(self) -> Finding:
        """How the verdict compares with the label."""
        return self.sample.finding(self.score)


def judged_samples(run: Run, critic: str) -> list[CriticSample]:
    """The scored samples of a first-error run, sorted by id."""
    pairs = sorted(run.scored_pairs(), key=lambda pair: pair[0].id)
    return [CriticSample(critic, sample, score) for sample, score in pairs]


@dataclass(frozen=True)
class Dimension:
    """A property of samples that detection may depend on."""

    name: str
    title: str
    group: Callable[[SampleRecord], Group]
    order: Callable[[Group], int | str]
    errors: bool = True
    """Whether it uses samples with an error; otherwise it uses samples without one."""


def error_third(sample: SampleRecord) -> str | None:
    """The third of the solution with the error."""
    return third_of(sample.label or 0, sample.n_steps or 0) if sample.has_error else None


def _dependants(sample: SampleRecord) -> Group:
    count = sample.dependants or 0
    return f"{MANY} or more" if count >= MANY else str(count)


def _by_tens(number: int) -> Group:
    low = number // 10 * 10
    return number if number < LONG else f"{low}-{low + 9}"


def _first_number(group: Group) -> int:
    return int(str(group).partition("-")[0].removesuffix(" or more"))


def _length(sample: SampleRecord) -> Group:
    return _by_tens(sample.n_steps or 0)


def _distance(sample: SampleRecord) -> Group:
    steps = int(sample.facets.get("distance", 0))
    place = sum(least <= steps for least in DISTANCES) - 1
    least, *more = DISTANCES[place:]
    if not more:
        return f"{least} or more"
    return least if more[0] == least + 1 else f"{least}-{more[0] - 1}"


THIRDS = ("early", "middle", "late")

DIMENSIONS = (
    Dimension(
        "step", "Index of the wrong step", lambda sample: _by_tens(sample.label or 0), _first_number
    ),
    Dimension(
        "third",
        "Third of the solution",
        lambda sample: error_third(sample) or "",
        lambda group: THIRDS.index(str(group)),
    ),
    Dimension("length", "Number of steps", _length, _first_number),
    Dimension(
        "difficulty",
        "Difficulty (4 and 5: long solutions)",
        lambda sample: sample.facets.get("difficulty", ""),
        str,
    ),
    Dimension(
        "error_type",
        "Type of error",
        lambda sample: sample.facets["error_type"],
        lambda group: ERROR_TYPES.index(str(group)),
    ),
    Dimension("dependants", "Steps that depend on the error", _dependants, str),
    Dimension(
        "distance",
        "Steps back to the earliest step that the wrong one depends on",
        _distance,
        _first_number,
    ),
    Dimension(
        "false_alarms",
        "Number of steps (rows without an error)",
        _length,
        _first_number,
        errors=False,
    ),
)


@dataclass(frozen=True)
class GroupCount:
    """The findings of one critic in one group of samples."""

    critic: str
    dimension: str
    group: Group
    findings: Counter[Finding]
    counts: Finding
    """The finding that is counted."""

    @property
    def rows(self) -> int:
        """The number of samples."""
        return self.findings.total()

    @property
    def counted(self) -> int:
        """Exact hits for samples with an error, false alarms for samples without one."""
        return self.findings[self.counts]

    @property
    def rate(self) -> Estimate:
        """The share of the counted samples, with its interval."""
        return share([1.0] * self.counted + [0.0] * (self.rows - self.counted))


def critics_of(table: Sequence[CriticSample]) -> list[str]:
    """The critics in the order of the table."""
    return list(dict.fromkeys(sample.critic for sample in table))


def group_counts(table: Sequence[CriticSample], dimension: Dimension) -> list[GroupCount]:
    """The findings of every critic in every group of a dimension."""
    judged = [one for one in table if one.sample.has_error == dimension.errors]
    groups = sorted({dimension.group(one.sample) for one in judged}, key=dimension.order)
    counters: defaultdict[tuple[str, Group], Counter[Finding]] = defaultdict(Counter)
    for one in judged:
        counters[one.critic, dimension.group(one.sample)][one.finding] += 1
    counts: Finding = "exact" if dimension.errors else "false_alarm"
    return [
        GroupCount(critic, dimension.name, group, findings, counts)
        for critic in critics_of(table)
        for group in groups
        if (findings := counters.get((critic, group)))
    ]


def dependence(counts: Sequence[GroupCount], critic: str) -> float:
    """The p-value that the groups of a critic differ only by chance.

    It is a permutation test of the chi-squared statistic: findings are assigned to samples at
    random, and the test counts how often the groups differ at least as much.

    Returns:
        The p-value; nan if all samples were judged alike or there is one group.
    """
    import numpy as np

    own = [count for count in counts if count.critic == critic]
    sizes = np.array([count.rows for count in own])
    counted = np.array([count.counted for count in own])
    total, positive = int(sizes.sum()), int(counted.sum())
    if len(own) < 2 or positive in (0, total):
        return nan
    expected = sizes * positive / total
    weight = 1 / expected + 1 / (sizes - expected)
    dealt = np.random.default_rng(SEED).multivariate_hypergeometric(sizes, positive, SHUFFLES)
    as_far = ((dealt - expected) ** 2 @ weight) >= ((counted - expected) ** 2 @ weight) - 1e-9
    return float((as_far.sum() + 1) / (SHUFFLES + 1))
