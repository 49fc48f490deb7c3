"""How first-error detection depends on the position and the type of an error."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from inspect_ai.log import EvalLog, EvalSampleSummary, read_eval_log_sample_summaries
from inspect_ai.scorer import Score

from misstep.generator import ERROR_TYPES
from misstep.reports._samples import Finding, finding_of
from misstep.samples import third_of
from misstep.scorers import Estimate, share
from misstep.verdicts import NO_ERROR

SCORER = "first_error"
MANY = 6
"""Errors with this many dependants or more are one group."""

SHUFFLES = 2000
SEED = 42

Group = str | int


@dataclass(frozen=True)
class JudgedSample:
    """A sample and the verdict of a critic."""

    critic: str
    id: str
    epoch: int
    label: int
    verdict: int | None
    finding: Finding
    unread: str | None
    """The reason if no verdict could be read."""
    metadata: dict[str, Any]
    """The short values of the sample's metadata."""

    @property
    def has_error(self) -> bool:
        """Whether the solution has an error."""
        return self.label != NO_ERROR


def judged_samples(log: EvalLog, critic: str) -> list[JudgedSample]:
    """Every scored sample of a first-error log, sorted by id.

    Args:
        log: The log, or its header. Samples are read from its file.
        critic: The name of the critic.
    """
    summaries = read_eval_log_sample_summaries(log.location)
    judged = [
        _judged_sample(summary, summary.scores[SCORER], critic)
        for summary in summaries
        if summary.scores and SCORER in summary.scores
    ]
    return sorted(judged, key=lambda sample: (sample.id, sample.epoch))


def _judged_sample(summary: EvalSampleSummary, score: Score, critic: str) -> JudgedSample:
    label = int(summary.metadata["label"])
    metadata = score.metadata or {}
    verdict = None if score.answer is None else int(score.answer)
    return JudgedSample(
        critic=critic,
        id=str(summary.id),
        epoch=summary.epoch,
        label=label,
        verdict=verdict,
        finding=finding_of(verdict, label, bool(metadata.get("out_of_range"))),
        unread=metadata.get("unread"),
        metadata=summary.metadata,
    )


@dataclass(frozen=True)
class Dimension:
    """A property of samples that detection may depend on."""

    name: str
    title: str
    group: Callable[[JudgedSample], Group]
    order: Callable[[Group], int | str]
    errors: bool = True
    """Whether it uses samples with an error; otherwise it uses samples without one."""


def _dependants(sample: JudgedSample) -> Group:
    count = int(sample.metadata["dependants"])
    return f"{MANY} or more" if count >= MANY else str(count)


def _length(sample: JudgedSample) -> int:
    return int(sample.metadata["length"])


THIRDS = ("early", "middle", "late")

DIMENSIONS = (
    Dimension("step", "Index of the wrong step", lambda sample: sample.label, int),
    Dimension(
        "third",
        "Third of the solution",
        lambda sample: third_of(sample.label, _length(sample)),
        lambda group: THIRDS.index(str(group)),
    ),
    Dimension("length", "Number of steps", _length, int),
    Dimension(
        "error_type",
        "Type of error",
        lambda sample: str(sample.metadata["error_type"]),
        lambda group: ERROR_TYPES.index(str(group)),
    ),
    Dimension("dependants", "Steps that depend on the error", _dependants, str),
    Dimension(
        "false_alarms", "Number of steps (rows without an error)", _length, int, errors=False
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


def critics_of(table: Sequence[JudgedSample]) -> list[str]:
    """The critics in the order of the table."""
    return list(dict.fromkeys(sample.critic for sample in table))


def group_counts(table: Sequence[JudgedSample], dimension: Dimension) -> list[GroupCount]:
    """The findings of every critic in every group of a dimension."""
    samples = [sample for sample in table if sample.has_error == dimension.errors]
    groups = sorted({dimension.group(sample) for sample in samples}, key=dimension.order)
    counters: dict[tuple[str, Group], Counter[Finding]] = {}
    for sample in samples:
        key = (sample.critic, dimension.group(sample))
        counters.setdefault(key, Counter())[sample.finding] += 1
    counts: Finding = "exact" if dimension.errors else "false_alarm"
    return [
        GroupCount(critic, dimension.name, group, findings, counts)
        for critic in critics_of(table)
        for group in groups
        if (findings := counters.get((critic, group)))
    ]


def dependence(counts: Sequence[GroupCount], critic: str) -> float:
    """The p-value that the groups of a critic differ only by chance.

    It is a permutation test of the chi-squared statistic: the counted samples are dealt out to all
    samples at random, and the test counts how often the groups differ at least as much.

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
