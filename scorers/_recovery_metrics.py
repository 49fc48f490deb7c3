"""The metrics of error recovery, from samples that are right or wrong in three variations.

Inspect calls metrics while a run goes on, with few samples or none: every figure here is defined
for any input, and is nan where its set is empty. All epochs of a sample are seen together: a value
of a sample is the mean over its epochs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from statistics import mean, stdev
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.registry import third_of
from misstep.scorers._intervals import Estimate, paired_difference, share, wilson
from misstep.scorers._metrics import interval
from misstep.scorers._variations import VARIATIONS, Variation
from misstep.verdicts import Unread

LENGTHS = ((6, "1-6"), (12, "7-12"), (24, "13-24"))
"""Up to how many steps a solution counts as one of a range; longer ones are of the last."""
ORDER = {
    "task": (),
    "position": ("early", "middle", "late"),
    "steps": (*(name for _, name in LENGTHS), "25-up"),
}
"""By what the samples are parted, and in which order; tasks come as they are met."""
GIVEN: tuple[Variation, ...] = ("CR", "IR")
"""The variations that give the model reasoning to carry on."""


@dataclass(frozen=True)
class Scored:
    """What the metrics need to know of a sample in one epoch."""

    right: dict[str, float]
    """By variation."""
    records: list[dict[str, Any]]
    """What the score tells of each variation."""


@dataclass(frozen=True)
class RecoveryOutcome:
    """A sample with all its epochs."""

    epochs: list[Scored]
    parts: dict[str, str]
    """Its task, the third in which its mistake stands, and how many steps there are."""

    def right(self, variation: Variation) -> float:
        """The share of epochs in which the variation was right."""
        return mean(epoch.right[variation] for epoch in self.epochs)


@metric(name="recovery_metrics", scores="unreduced")
def recovery_metrics() -> Metric:
    """Rates, paired differences and the recovery rate with intervals, by task, place and length."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_figures(recovery_outcomes(scores)))

    return compute


def recovery_outcomes(scores: Iterable[SampleScore]) -> list[RecoveryOutcome]:
    """The samples that some scores are of."""
    by_sample: dict[str, list[SampleScore]] = {}
    for score in scores:
        by_sample.setdefault(str(score.sample_id), []).append(score)
    return [_outcome(epochs) for epochs in by_sample.values()]


def _outcome(epochs: Sequence[SampleScore]) -> RecoveryOutcome:
    metadata = epochs[0].sample_metadata or {}
    steps = int(metadata["n_steps"])
    return RecoveryOutcome(
        epochs=[_scored(epoch) for epoch in epochs],
        parts={
            "task": str(metadata["task"]),
            "position": third_of(int(metadata["mistake_index"]), steps),
            "steps": next((name for most, name in LENGTHS if steps <= most), ORDER["steps"][-1]),
        },
    )


def _scored(scored: SampleScore) -> Scored:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    return Scored(
        right={name: float(cast(float, values[name])) for name in VARIATIONS},
        records=[metadata.get(name) or {} for name in VARIATIONS],
    )


def _figures(outcomes: list[RecoveryOutcome]) -> Iterator[tuple[str, float]]:
    """First what people look at, then the intervals, then the parts."""
    estimates = {**_rates(outcomes), **_comparisons(outcomes)}
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from _replies([epoch for outcome in outcomes for epoch in outcome.epochs])
    yield "total_count", len(outcomes)
    for name, estimate in estimates.items():
        yield from interval(name, estimate)
    # Inspect's dataframes and viewer take a metric of this name as the headline's error bar.
    yield "stderr", _stderr([outcome.right("IR") for outcome in outcomes])
    for kind in ORDER:
        for part, rates in rates_by(outcomes, kind).items():
            for name, estimate in rates.items():
                yield f"{kind}_{part.replace('_', '-')}_{name}", estimate.value


def rates_by(outcomes: Sequence[RecoveryOutcome], kind: str) -> dict[str, dict[str, Estimate]]:
    """The three rates of each part of the samples.

    Args:
        outcomes: The samples.
        kind: By what they are parted: one of ORDER.
    """
    parts: dict[str, list[RecoveryOutcome]] = {name: [] for name in ORDER[kind]}
    for outcome in outcomes:
        parts.setdefault(outcome.parts[kind], []).append(outcome)
    return {name: _rates(members) for name, members in parts.items() if members}


def _rates(outcomes: Sequence[RecoveryOutcome]) -> dict[str, Estimate]:
    return {
        f"{name}_correct_rate": share([outcome.right(name) for outcome in outcomes])
        for name in VARIATIONS
    }


def _comparisons(outcomes: Sequence[RecoveryOutcome]) -> dict[str, Estimate]:
    nr, cr, ir = ([outcome.right(name) for outcome in outcomes] for name in VARIATIONS)
    return {
        "CR_minus_NR": paired_difference(cr, nr),
        "CR_minus_IR": paired_difference(cr, ir),
        "recovery_rate": _recovery_rate(outcomes),
    }


def _recovery_rate(outcomes: Sequence[RecoveryOutcome]) -> Estimate:
    """How often IR is right where CR is.

    The interval is Wilson's for as many samples as CR ever got right: epochs of one sample are no
    samples of their own.
    """
    known = [[e for e in outcome.epochs if e.right["CR"] == 1] for outcome in outcomes]
    pairs = [epoch.right["IR"] for epochs in known for epoch in epochs]
    return wilson(mean(pairs), sum(map(bool, known))) if pairs else Estimate(nan, nan, nan)


def _replies(epochs: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """The shares of final replies that cannot be right, of cut reasoning, of continuation."""
    records = [record for epoch in epochs for record in epoch.records]
    for unread in (Unread.EMPTY, Unread.REFUSED, Unread.TRUNCATED):
        yield unread.value, share([float(r.get("unread") == unread) for r in records]).value
    cut = [float(Unread.TRUNCATED in r.get("reasoning_unread", ())) for r in records]
    yield "reasoning_truncated", share(cut).value
    given = [epoch.records[VARIATIONS.index(name)] for epoch in epochs for name in GIVEN]
    yield "continued", share([float(r.get("turn") == "continued") for r in given]).value
    yield "total_tokens", sum(record.get("tokens", 0) for record in records)


def _stderr(values: Sequence[float]) -> float:
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else nan
