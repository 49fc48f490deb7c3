"""The metrics of erroneous sections: macro over solutions, micro over sections.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty. The values of a sample are the means over its
epochs. A run registers few metrics. `section_table` has all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata
from misstep.scorers._first_error_metrics import unread_shares
from misstep.scorers._intervals import UNDEFINED, Estimate, harmonic_mean, ratio, share

LEFT_OUT = "left_out"
"""The key of a score's metadata that says why the published script leaves the sample out."""

VALUES = ("precision", "recall", "f1", "hits", "false_alarms", "missed")
METRICS = ("f1_macro", "precision_macro", "recall_macro", "f1_micro")
"""The metrics that a run registers, the headline first."""


@dataclass(frozen=True)
class SectionsSample:
    """What the metrics need of the epochs of one sample that are counted."""

    values: dict[str, float]
    """The means of VALUES."""
    cluster: str


@metric(name="section_metrics", scores="unreduced")
def section_metrics() -> Metric:
    """F1, precision and recall over solutions, F1 over sections, and the unread shares."""

    def compute(scores: list[SampleScore]) -> Value:
        estimates = section_estimates(scores)
        return {
            **{name: estimates[name].value for name in METRICS},
            **dict(estimates["f1_macro"].interval("f1_macro")),
            **unread_shares(scores),
            "total_count": len(_by_sample(scores)),
            # Inspect's dataframes and viewer take a metric of this name as the error bar.
            "stderr": estimates["f1_macro"].stderr,
        }

    return compute


@metric(name="published_section_metrics", scores="unreduced")
def published_section_metrics() -> Metric:
    """F1, precision and recall over solutions."""

    def compute(scores: list[SampleScore]) -> Value:
        estimates = section_estimates(scores)
        return {
            **{name: estimates[name].value for name in METRICS[:3]},
            **dict(estimates["f1_macro"].interval("f1_macro")),
        }

    return compute


def section_table(scores: Sequence[SampleScore], epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return every metric of erroneous sections, also by subset.

    Args:
        scores: One score for each sample. They are not used: the values of epochs are averaged.
        epochs: The scores of all epochs.
    """
    return metric_values(_all_metrics(epochs))


def _all_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    yield from _set_metrics(epochs)
    yield "stderr", section_estimates(epochs)["f1_macro"].stderr
    for subset in sorted({name for one in epochs if (name := _about(one).subset) is not None}):
        members = [one for one in epochs if _about(one).subset == subset]
        for name, value in _set_metrics(members):
            yield f"{subset}_{name}", value


def _set_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    estimates = section_estimates(epochs)
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from unread_shares(epochs).items()
    yield "left_out", share([float(_is_left_out(one)) for one in epochs]).value
    yield "total_count", len(_by_sample(epochs))
    for name, estimate in estimates.items():
        yield from estimate.interval(name)


def section_estimates(epochs: Sequence[SampleScore]) -> dict[str, Estimate]:
    """Return F1, precision and recall with their intervals, macro and micro.

    Precision is 0 if nothing is flagged, as in the published script. Recall is undefined if no
    section is erroneous.
    """
    groups = _by_sample([one for one in epochs if not _is_left_out(one)])
    samples = [_sample(name, members) for name, members in groups.items()]
    clusters = [sample.cluster for sample in samples]

    def column(name: str) -> list[float]:
        return [sample.values[name] for sample in samples]

    hits, false_alarms, missed = (column(name) for name in VALUES[3:])
    flagged = [a + b for a, b in zip(hits, false_alarms, strict=True)]
    gold = [a + b for a, b in zip(hits, missed, strict=True)]
    precision, recall = ratio(hits, flagged, clusters), ratio(hits, gold, clusters)
    if samples and not sum(flagged):
        precision = Estimate(0.0, nan, nan)
    # F1 over sections is a share too: hits count twice, in what is flagged and in what is wrong.
    f1 = ratio([2 * x for x in hits], [a + b for a, b in zip(flagged, gold, strict=True)], clusters)
    value = harmonic_mean(precision.value, recall.value)
    macro = {f"{name}_macro": share(column(name), clusters) for name in ("f1", *VALUES[:2])}
    return {
        **macro,
        "f1_micro": UNDEFINED if isnan(value) else replace(f1, value=value),
        "precision_micro": precision,
        "recall_micro": recall,
    }


def _by_sample(epochs: Sequence[SampleScore]) -> dict[str, list[SampleScore]]:
    samples: dict[str, list[SampleScore]] = {}
    for number, one in enumerate(epochs):
        name = f"number {number}" if one.sample_id is None else str(one.sample_id)
        samples.setdefault(name, []).append(one)
    return samples


def _sample(name: str, epochs: Sequence[SampleScore]) -> SectionsSample:
    parts = [one.score.as_dict() for one in epochs]
    return SectionsSample(
        values={key: sum(float(cast(float, p[key])) for p in parts) / len(parts) for key in VALUES},
        cluster=_about(epochs[0]).cluster or f"sample {name}",
    )


def _about(scored: SampleScore) -> GroupMetadata:
    return GroupMetadata.model_validate(scored.sample_metadata or {})


def _is_left_out(scored: SampleScore) -> bool:
    return LEFT_OUT in (scored.score.metadata or {})
