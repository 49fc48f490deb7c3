"""The metrics of error recovery, from samples that are right or wrong in three variations.

Inspect calls metrics while a run goes on, with few samples or none: every figure here is defined
for any input, and is nan where its set is empty. All epochs of a sample are seen together: a value
of a sample is the mean over its epochs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from statistics import mean, stdev
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.registry import third_of
from misstep.scorers._intervals import Estimate, paired_difference, share, wilson
from misstep.scorers._metrics import interval
from misstep.scorers._variations import VARIATIONS, Variation
from misstep.scorers._verdicts import Unread

LENGTHS = ((6, "1-6"), (12, "7-12"), (24, "13-24"))
"""Up to how many steps a solution counts as one of a range; longer ones are the last."""
LONGEST = "25-up"
THIRDS = ("early", "middle", "late")
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
    task: str
    third: str
    length: str

    def right(self, variation: Variation) -> float:
        """The share of epochs in which the variation was right."""
        return mean(epoch.right[variation] for epoch in self.epochs)


@metric(name="recovery_metrics", scores="unreduced")
def recovery_metrics() -> Metric:
    """Rates, paired differences and the recovery rate with intervals, by task, place and length."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_figures(_outcomes(scores)))

    return compute


def _outcomes(scores: Sequence[SampleScore]) -> list[RecoveryOutcome]:
    by_sample: dict[str, list[SampleScore]] = {}
    for score in scores:
        by_sample.setdefault(str(score.sample_id), []).append(score)
    return [_outcome(epochs) for epochs in by_sample.values()]


def _outcome(epochs: Sequence[SampleScore]) -> RecoveryOutcome:
    metadata = epochs[0].sample_metadata or {}
    steps = int(metadata["n_steps"])
    return RecoveryOutcome(
        epochs=[_scored(epoch) for epoch in epochs],
        task=str(metadata["task"]),
        third=third_of(int(metadata["mistake_index"]), steps),
        length=next((name for most, name in LENGTHS if steps <= most), LONGEST),
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
    for task, members in _parts(outcomes, lambda outcome: outcome.task).items():
        prefix = f"task_{task.replace('_', '-')}"
        rates = {**_rates(members), "recovery_rate": _recovery_rate(members)}
        for name, estimate in rates.items():
            yield f"{prefix}_{name}", estimate.value
        for name, estimate in rates.items():
            yield from interval(f"{prefix}_{name}", estimate)
    thirds = _parts(outcomes, lambda outcome: outcome.third, THIRDS)
    lengths = _parts(outcomes, lambda outcome: outcome.length, [*(x for _, x in LENGTHS), LONGEST])
    for kind, parts in (("position", thirds), ("steps", lengths)):
        for part, members in parts.items():
            for name, estimate in _rates(members).items():
                yield f"{kind}_{part}_{name}", estimate.value


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


def _parts(
    outcomes: Sequence[RecoveryOutcome],
    key: Callable[[RecoveryOutcome], str],
    order: Sequence[str] | None = None,
) -> dict[str, list[RecoveryOutcome]]:
    """The outcomes by a key, in the given order or in that of their first appearance."""
    parts: dict[str, list[RecoveryOutcome]] = {name: [] for name in order or ()}
    for outcome in outcomes:
        parts.setdefault(key(outcome), []).append(outcome)
    return {name: members for name, members in parts.items() if members}
