"""The metrics of error recovery, from samples that are right or wrong in three variations.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty. The value of a sample is the mean over its
epochs. A run registers few metrics. `recovery_table` has all.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.plain_text import metric_values
from misstep.samples import VARIATIONS, MistakeMetadata, Variation, third_of
from misstep.scorers._intervals import Estimate, paired_difference, share
from misstep.verdicts import Unread

LENGTHS = ((6, "1-6"), (12, "7-12"), (24, "13-24"))
"""The largest number of steps of each range, and its name."""
ORDER = {
    "task": (),
    "position": ("early", "middle", "late"),
    "steps": (*(name for _, name in LENGTHS), "25-up"),
}
"""The ways to group samples, and the order of the groups. Tasks come in the order of samples."""
GIVEN: tuple[Variation, ...] = ("CR", "IR")
"""The variations that give the model reasoning to continue."""


@dataclass(frozen=True)
class RecoveryEpoch:
    """What the metrics need of one epoch of a sample."""

    right: dict[str, float]
    """Whether each variation is right."""
    records: list[dict[str, Any]]
    """The score's metadata on each variation."""


@dataclass(frozen=True)
class RecoverySample:
    """A sample with all its epochs."""

    epochs: list[RecoveryEpoch]
    cluster: str
    groups: dict[str, str]
    """The sample's task, the third that its mistake is in, and its range of steps."""

    def right(self, variation: Variation) -> float:
        """Return the share of epochs in which a variation is right."""
        return mean(epoch.right[variation] for epoch in self.epochs)


@metric(name="recovery_metrics", scores="unreduced")
def recovery_metrics() -> Metric:
    """The three rates with intervals, the recovery rate, and what shows how far to trust them."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_registered(recovery_samples(scores)))

    return compute


def recovery_table(
    scores: Sequence[SampleScore], epochs: Sequence[SampleScore]
) -> dict[str, float]:
    """Return every metric of error recovery, also by task, place of the mistake and length.

    Args:
        scores: One score for each sample. They are not used: the values of epochs are averaged.
        epochs: The scores of all epochs.
    """
    return metric_values(_all_metrics(recovery_samples(epochs)))


def recovery_samples(scores: Iterable[SampleScore]) -> list[RecoverySample]:
    """Return the samples that scores belong to, each with all its epochs."""
    by_sample: dict[str, list[SampleScore]] = {}
    for score in scores:
        by_sample.setdefault(str(score.sample_id), []).append(score)
    return [_sample(name, epochs) for name, epochs in by_sample.items()]


def _sample(name: str, epochs: Sequence[SampleScore]) -> RecoverySample:
    about = MistakeMetadata.model_validate(epochs[0].sample_metadata or {})
    steps = about.n_steps
    return RecoverySample(
        epochs=[_epoch(epoch) for epoch in epochs],
        cluster=about.cluster or f"sample {name}",
        groups={
            "task": about.task,
            "position": third_of(about.mistake_index, steps),
            "steps": next((name for most, name in LENGTHS if steps <= most), ORDER["steps"][-1]),
        },
    )


def _epoch(scored: SampleScore) -> RecoveryEpoch:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    return RecoveryEpoch(
        right={name: float(cast(float, values[name])) for name in VARIATIONS},
        records=[metadata.get(name) or {} for name in VARIATIONS],
    )


def _registered(samples: Sequence[RecoverySample]) -> Iterator[tuple[str, float]]:
    """Yield 15 metrics, the main ones first."""
    rates = _rates(samples)
    for name, estimate in rates.items():
        yield name, estimate.value
    yield "recovery_rate", _recovery_rate(samples).value
    replies = dict(_replies([epoch for sample in samples for epoch in sample.epochs]))
    yield from ((name, replies[name]) for name in ("unread", "truncated", "continued"))
    yield "total_count", len(samples)
    for name, estimate in rates.items():
        yield from estimate.interval(name)
    # Inspect's dataframes and viewer take a metric of this name as the headline's error bar.
    yield "stderr", rates["IR_correct_rate"].stderr


def _all_metrics(samples: Sequence[RecoverySample]) -> Iterator[tuple[str, float]]:
    """Yield the main metrics first, then the intervals, then the groups."""
    estimates = {**_rates(samples), **_comparisons(samples)}
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from _replies([epoch for sample in samples for epoch in sample.epochs])
    yield "total_count", len(samples)
    for name, estimate in estimates.items():
        yield from estimate.interval(name)
    yield "stderr", estimates["IR_correct_rate"].stderr
    for kind in ORDER:
        for group, rates in rates_by(samples, kind).items():
            for name, estimate in rates.items():
                yield f"{kind}_{group.replace('_', '-')}_{name}", estimate.value


def rates_by(samples: Sequence[RecoverySample], kind: str) -> dict[str, dict[str, Estimate]]:
    """Return the three rates of each group of samples. `kind` is one of ORDER."""
    groups: dict[str, list[RecoverySample]] = {name: [] for name in ORDER[kind]}
    for sample in samples:
        groups.setdefault(sample.groups[kind], []).append(sample)
    return {name: _rates(members) for name, members in groups.items() if members}


def _rates(samples: Sequence[RecoverySample]) -> dict[str, Estimate]:
    clusters = [sample.cluster for sample in samples]
    return {
        f"{name}_correct_rate": share([sample.right(name) for sample in samples], clusters)
        for name in VARIATIONS
    }


def _comparisons(samples: Sequence[RecoverySample]) -> dict[str, Estimate]:
    nr, cr, ir = ([sample.right(name) for sample in samples] for name in VARIATIONS)
    clusters = [sample.cluster for sample in samples]
    return {
        "CR_minus_NR": paired_difference(cr, nr, clusters),
        "CR_minus_IR": paired_difference(cr, ir, clusters),
        "recovery_rate": _recovery_rate(samples),
    }


def _recovery_rate(samples: Sequence[RecoverySample]) -> Estimate:
    """Return how often IR is right among the epochs in which CR is right."""
    known = [
        (epoch.right["IR"], sample.cluster)
        for sample in samples
        for epoch in sample.epochs
        if epoch.right["CR"] == 1
    ]
    return share([hit for hit, _ in known], [cluster for _, cluster in known])


def _replies(epochs: Sequence[RecoveryEpoch]) -> Iterator[tuple[str, float]]:
    """Yield the shares of unread final replies, of truncated reasoning, and of continued text."""
    records = [record for epoch in epochs for record in epoch.records]
    yield "unread", share([float(bool(record.get("unread"))) for record in records]).value
    for unread in (Unread.EMPTY, Unread.REFUSED, Unread.TRUNCATED):
        yield unread.value, share([float(r.get("unread") == unread) for r in records]).value
    cut = [float(Unread.TRUNCATED in r.get("reasoning_unread", ())) for r in records]
    yield "reasoning_truncated", share(cut).value
    given = [epoch.records[VARIATIONS.index(name)] for epoch in epochs for name in GIVEN]
    yield "continued", share([float(r.get("turn") == "continued") for r in given]).value
    yield "total_tokens", sum(record.get("tokens", 0) for record in records)
