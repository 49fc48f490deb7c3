"""The metrics of erroneous sections: macro over solutions, micro over sections.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata
from misstep.scorers._first_error_metrics import NOT_UNPARSED
from misstep.scorers._intervals import (
    UNDEFINED,
    Draws,
    f1_of_draws,
    from_draws,
    harmonic_mean,
    multinomial_draws,
    share,
)
from misstep.verdicts import Unread

LEFT_OUT = "left_out"
"""The key of a score's metadata that says why the published script leaves the sample out."""

VALUES = ("precision", "recall", "f1", "hits", "false_alarms", "missed")
METRICS = tuple(f"{name}_{kind}" for kind in ("macro", "micro") for name in VALUES[:3])
SHOWN = sorted(METRICS, key=lambda name: (not name.endswith("macro"), not name.startswith("f1")))
"""METRICS with the headline first."""


@dataclass(frozen=True)
class SectionsSample:
    """What the metrics need of one scored sample."""

    values: tuple[float, ...]
    """The values, in the order of VALUES."""
    subset: str | None
    unread: str | None
    truncated: bool
    left_out: bool


@metric(name="section_metrics")
def section_metrics() -> Metric:
    """F1, precision and recall, macro and micro, with intervals and shares, also by subset."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics([_sample(score) for score in scores]))

    return compute


def _sample(scored: SampleScore) -> SectionsSample:
    values = scored.score.as_dict()
    metadata = scored.score.metadata or {}
    unread = metadata.get("unread")
    return SectionsSample(
        values=tuple(float(cast(float, values[name])) for name in VALUES),
        subset=GroupMetadata.model_validate(scored.sample_metadata or {}).subset,
        unread=unread,
        truncated=unread == Unread.TRUNCATED or bool(metadata.get("truncated")),
        left_out=LEFT_OUT in metadata,
    )


def _metrics(samples: list[SectionsSample]) -> Iterator[tuple[str, float]]:
    yield from _set_metrics(samples)
    for subset in sorted({sample.subset for sample in samples if sample.subset is not None}):
        members = [sample for sample in samples if sample.subset == subset]
        for name, value in _set_metrics(members):
            if name != "stderr":
                yield f"{subset}_{name}", value


def _set_metrics(samples: Sequence[SectionsSample]) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    rows = [sample.values for sample in samples if not sample.left_out]
    totals = tuple(sum(column) for column in zip(*rows, strict=True)) if rows else (0.0,) * 6
    values = dict(zip(METRICS, point_metrics(totals, len(rows)), strict=True))
    draws = dict(zip(METRICS, _draws(rows), strict=True)) if rows else {}
    for name in SHOWN:
        yield name, values[name]
    unparsed = [float(sample.unread not in NOT_UNPARSED) for sample in samples]
    yield "unparsed", share(unparsed).value
    yield "truncated", share([float(sample.truncated) for sample in samples]).value
    yield "left_out", share([float(sample.left_out) for sample in samples]).value
    yield "total_count", len(samples)
    for name in SHOWN:
        estimate = from_draws(values[name], draws[name]) if draws else UNDEFINED
        yield from estimate.interval(name)
        if name == "f1_macro":
            # Inspect's dataframes and viewer take a metric of this name as the error bar.
            yield "stderr", estimate.stderr


def point_metrics(totals: Sequence[float], samples: int) -> tuple[float, ...]:
    """Return the metrics from the sums of VALUES over samples, in the order of METRICS.

    Precision is 0 if nothing is flagged, as in the published script. Recall is undefined if no
    section is erroneous.
    """
    if samples == 0:
        return (nan,) * len(METRICS)
    precision, recall, f1, hits, false_alarms, missed = totals
    micro_precision = hits / (hits + false_alarms) if hits + false_alarms else 0.0
    micro_recall = hits / (hits + missed) if hits + missed else nan
    return (
        precision / samples,
        recall / samples,
        f1 / samples,
        micro_precision,
        micro_recall,
        harmonic_mean(micro_precision, micro_recall),
    )


def _draws(rows: Sequence[tuple[float, ...]]) -> list[Draws]:
    """Return the metrics of all resamples, in the order of METRICS.

    Resampling is a multinomial draw over the distinct rows: the same distribution, but faster.
    """
    import numpy as np

    cells, counts = np.unique(np.array(rows, dtype=np.float64), axis=0, return_counts=True)
    sums: Draws = multinomial_draws(counts) @ cells
    macro = [sums[:, i] / len(rows) for i in range(3)]
    hits, false_alarms, missed = sums[:, 3], sums[:, 4], sums[:, 5]
    precision = _divided(hits, hits + false_alarms, 0.0)
    recall = _divided(hits, hits + missed, nan)
    return [*macro, precision, recall, f1_of_draws(precision, recall)]


def _divided(part: Draws, whole: Draws, otherwise: float) -> Draws:
    """Return part / whole, or `otherwise` if the whole is 0."""
    import numpy as np

    result: Draws = np.full(part.shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
