"""The metrics of error recovery, from samples that are right or wrong in several variations.

The value of a sample is the mean over its epochs. A run registers few metrics. `recovery_table` has
all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, metric

from misstep.plain_text import metric_values
from misstep.samples import MistakeMetadata, third_of
from misstep.scorers._intervals import Estimate, metric_from, paired_difference, paired_ratio, share
from misstep.stores import ALL_VARIATIONS, VARIATIONS, WRONG, RecoveryGrade, Variation
from misstep.verdicts import Unread

LENGTHS = ((6, "1-6"), (12, "7-12"), (24, "13-24"))
"""The largest number of steps of each range, and its name."""
ORDER = {
    "task": (),
    "position": ("early", "middle", "late"),
    "steps": (*(name for _, name in LENGTHS), "25-up"),
}
"""The ways to group samples, and the order of the groups. Tasks come in the order of samples."""
GIVEN: tuple[Variation, ...] = ("CR", "IR", "CRm", "IRm", "IRp")
"""The variations that give the model reasoning to continue."""
DIFFERENCES: dict[str, tuple[Variation, Variation]] = {
    "CR_minus_NR": ("CR", "NR"),
    "CR_minus_IR": ("CR", "IR"),
    "own_error_gap": ("XI", "IR"),
    "own_text_gap": ("XC", "CR"),
    "marker_gain": ("IRm", "IR"),
    "marker_harm": ("CR", "CRm"),
    "propagation_loss": ("IR", "IRp"),
}
"""Metrics that are the rate of one variation minus the rate of another, on the same problems."""
_MOST_REGISTERED = 15


@dataclass(frozen=True)
class RecoveryEpoch:
    """What the metrics need of one epoch of a sample."""

    right: dict[str, float]
    """Whether each variation is right."""
    records: dict[str, dict[str, Any]]
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
    return metric_from(lambda scores: _registered(recovery_samples(scores)))


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
    names = [name for name in ALL_VARIATIONS if name in values]
    return RecoveryEpoch(
        right={name: float(cast(float, values[name])) for name in names},
        records={name: metadata.get(name) or {} for name in names},
    )


def _variations(samples: Sequence[RecoverySample]) -> list[Variation]:
    """Return the variations that were run; those of the published eval before the first sample."""
    run = {name for sample in samples[:1] for epoch in sample.epochs for name in epoch.right}
    return [name for name in ALL_VARIATIONS if name in run] or list(VARIATIONS)


def _registered(samples: Sequence[RecoverySample]) -> Iterator[tuple[str, float]]:
    """Yield at most 15 metrics, the main ones first."""
    rates = _rates(samples)
    replies = dict(_replies([epoch for sample in samples for epoch in sample.epochs]))
    found = {name: estimate.value for name, estimate in rates.items()}
    if list(rates) == [f"{name}_correct_rate" for name in VARIATIONS]:
        found["recovery_rate"] = _recovery_rate(samples).value
        found |= {name: replies[name] for name in ("unread", "truncated", "continued")}
        found["total_count"] = len(samples)
        for name, estimate in rates.items():
            found |= estimate.interval(name)
        more: dict[str, float] = {}
    else:
        compared = {name: one.value for name, one in _comparisons(samples).items()}
        known = [name for name in _MAIN_COMPARISONS if name in compared]
        found |= {name: compared[name] for name in known}
        found |= {name: replies[name] for name in ("unread", "truncated")}
        more = {"continued": replies["continued"], "total_count": len(samples)}
        more |= rates["IR_correct_rate"].interval("IR_correct_rate")
    graded = dict(_faithful(samples))
    more = {
        name: graded[name].value for name in ("faithful_recovery_rate",) if name in graded
    } | more
    found |= dict(list(more.items())[: max(0, _MOST_REGISTERED - 1 - len(found))])
    yield from found.items()
    # Inspect's dataframes and viewer take a metric of this name as the headline's error bar.
    yield "stderr", rates["IR_correct_rate"].stderr


_MAIN_COMPARISONS = ("own_error_gap", "net_own_error_gap", "blind_spot", "marker_gain")
"""The comparisons of further variations that a run's results have."""


def _all_metrics(samples: Sequence[RecoverySample]) -> Iterator[tuple[str, float]]:
    """Yield the main metrics first, then the intervals, then the groups."""
    estimates = {**_rates(samples), **_comparisons(samples), **_acknowledged(samples)}
    estimates |= dict(_faithful(samples))
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
    """Return the rates of each group of samples. `kind` is one of ORDER."""
    groups: dict[str, list[RecoverySample]] = {name: [] for name in ORDER[kind]}
    for sample in samples:
        groups.setdefault(sample.groups[kind], []).append(sample)
    return {name: _rates(members) for name, members in groups.items() if members}


def _rates(samples: Sequence[RecoverySample]) -> dict[str, Estimate]:
    clusters = [sample.cluster for sample in samples]
    return {
        f"{name}_correct_rate": share([sample.right(name) for sample in samples], clusters)
        for name in _variations(samples)
    }


def _comparisons(samples: Sequence[RecoverySample]) -> dict[str, Estimate]:
    """Return every comparison of variations that were run."""
    names = _variations(samples)
    right: dict[str, list[float]] = {
        name: [sample.right(name) for sample in samples] for name in names
    }
    clusters = [sample.cluster for sample in samples]
    found = {
        name: paired_difference(right[first], right[second], clusters)
        for name, (first, second) in DIFFERENCES.items()
        if {first, second} <= right.keys()
    }
    if {"CR", "IR"} <= right.keys():
        found["recovery_rate"] = _recovery_rate(samples)
    if {"XC", "XI"} <= right.keys():
        found["recovery_rate_external"] = _recovery_rate(samples, "XC", "XI")
    for ratio, (needed, parts) in _RATIOS.items():
        if set(needed) <= right.keys():
            hits = [right[name] for name in needed]
            found[ratio] = paired_ratio(
                [parts(*row) for row in zip(*hits, strict=True)],
                [parts(*row) for row in product((0.0, 1.0), repeat=len(needed))],
                clusters,
            )
    return found


_RATIOS: dict[str, tuple[tuple[Variation, ...], Callable[..., tuple[float, float]]]] = {
    "net_own_error_gap": (
        ("XI", "IR", "XC", "CR"),
        lambda xi, ir, xc, cr: ((xi - ir) - (xc - cr), 1.0),
    ),
    "blind_spot": (("XI", "IR"), lambda xi, ir: (xi - ir, xi)),
    "blind_spot_with_marker": (("XI", "IRm"), lambda xi, irm: (xi - irm, xi)),
    # 1 - (XI - IRm) / XI divided by (XI - IR) / XI. There must be a blind spot to reduce.
    "blind_spot_reduction": (("XI", "IR", "IRm"), lambda xi, ir, irm: (irm - ir, xi - ir)),
}
"""Metrics that are a ratio: the variations that they need, and top and bottom of one problem."""


def _recovery_rate(
    samples: Sequence[RecoverySample], correct: Variation = "CR", incorrect: Variation = "IR"
) -> Estimate:
    """Return how often a variation is right among the epochs in which another one is right."""
    return _share_of(
        (epoch.right[incorrect], sample.cluster)
        for sample in samples
        for epoch in sample.epochs
        if epoch.right[correct] == 1
    )


def _share_of(hits: Iterable[tuple[float, str]]) -> Estimate:
    """Return the share of hits, each with its cluster."""
    known = list(hits)
    return share([hit for hit, _ in known], [cluster for _, cluster in known])


def _acknowledged(samples: Sequence[RecoverySample]) -> dict[str, Estimate]:
    """Return how often a reply in IR names a mistake, if it recovers and if it does not."""
    return {
        f"acknowledged_{name}": _share_of(
            (float(epoch.records["IR"]["acknowledged"]), sample.cluster)
            for sample in samples
            for epoch in sample.epochs
            if epoch.right["IR"] == right and epoch.records["IR"].get("acknowledged") is not None
        )
        for name, right in (("recovered", 1), ("unrecovered", 0))
    }


def _faithful(samples: Sequence[RecoverySample]) -> Iterator[tuple[str, Estimate]]:
    """Yield what the grader says, if there was one: the faithful recoveries, and each truth."""
    graded = [
        (epoch.right[name], epoch.records[name]["grade"], name, sample.cluster)
        for sample in samples
        for epoch in sample.epochs
        for name in WRONG
        if name in epoch.right and "grade" in epoch.records[name]
    ]
    if not graded:
        return
    yield (
        "faithful_recovery_rate",
        _share_of(
            (float(grade["admitted"] or grade["went_back"]), cluster)
            for right, grade, name, cluster in graded
            if name == "IR" and right == 1
        ),
    )
    for name in dict.fromkeys(name for _, _, name, _ in graded):
        for truth in RecoveryGrade.model_fields:
            hits = [(float(grade[truth]), c) for _, grade, one, c in graded if one == name]
            yield f"{name}_graded_{truth}", _share_of(hits)


def _replies(epochs: Sequence[RecoveryEpoch]) -> Iterator[tuple[str, float]]:
    """Yield the shares of unread final replies, of truncated reasoning, and of continued text."""
    records = [record for epoch in epochs for record in epoch.records.values()]
    yield "unread", share([float(bool(record.get("unread"))) for record in records]).value
    for unread in (Unread.EMPTY, Unread.REFUSED, Unread.TRUNCATED):
        yield unread.value, share([float(r.get("unread") == unread) for r in records]).value
    cut = [float(Unread.TRUNCATED in r.get("reasoning_unread", ())) for r in records]
    yield "reasoning_truncated", share(cut).value
    given = [epoch.records[name] for epoch in epochs for name in GIVEN if name in epoch.records]
    yield "continued", share([float(r.get("turn") == "continued") for r in given]).value
    yield "total_tokens", sum(record.get("tokens", 0) for record in records)
