"""The metrics of erroneous sections: macro over solutions, micro over sections.

Inspect calls metrics while a run goes on, with few samples or none: every figure here is defined
for any input, and is nan where its set is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.scorers._intervals import (
    RESAMPLES,
    SEED,
    Draws,
    Estimate,
    from_draws,
    harmonic_mean,
    share,
)
from misstep.scorers._metrics import NOT_UNPARSED, interval
from misstep.verdicts import Unread

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEFT_OUT = "left_out"
"""Where a score's metadata tells why the published script has no figures for the sample."""

VALUES = ("precision", "recall", "f1", "hits", "false_alarms", "missed")
FIGURES = tuple(f"{name}_{kind}" for kind in ("macro", "micro") for name in VALUES[:3])
SHOWN = sorted(FIGURES, key=lambda name: (not name.endswith("macro"), not name.startswith("f1")))
"""The same, the headline first."""


@dataclass(frozen=True)
class SectionsOutcome:
    """What the metrics need to know of one scored sample."""

    values: tuple[float, ...]
    """In the order of VALUES."""
    subset: str | None
    unread: str | None
    truncated: bool
    left_out: bool


@metric(name="section_metrics")
def section_metrics() -> Metric:
    """F1, precision and recall, macro and micro, with intervals and shares, by subset too."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_figures([_outcome(score) for score in scores]))

    return compute


def _outcome(scored: SampleScore) -> SectionsOutcome:
    values = scored.score.as_dict()
    metadata = scored.score.metadata or {}
    subset = (scored.sample_metadata or {}).get("subset")
    unread = metadata.get("unread")
    return SectionsOutcome(
        values=tuple(float(cast(float, values[name])) for name in VALUES),
        subset=None if subset is None else str(subset),
        unread=unread,
        truncated=unread == Unread.TRUNCATED or bool(metadata.get("truncated")),
        left_out=LEFT_OUT in metadata,
    )


def _figures(outcomes: list[SectionsOutcome]) -> Iterator[tuple[str, float]]:
    yield from _set_figures(outcomes)
    subsets = sorted({outcome.subset for outcome in outcomes if outcome.subset is not None})
    for subset in subsets:
        members = [outcome for outcome in outcomes if outcome.subset == subset]
        for name, value in _set_figures(members):
            if name != "stderr":
                yield f"{subset}_{name}", value


def _set_figures(outcomes: Sequence[SectionsOutcome]) -> Iterator[tuple[str, float]]:
    """The figures of one set of samples: first what people look at, then the intervals."""
    rows = [outcome.values for outcome in outcomes if not outcome.left_out]
    totals = tuple(sum(column) for column in zip(*rows, strict=True)) if rows else (0.0,) * 6
    values = dict(zip(FIGURES, point_figures(totals, len(rows)), strict=True))
    draws = dict(zip(FIGURES, _draws(rows), strict=True)) if rows else {}
    for name in SHOWN:
        yield name, values[name]
    unparsed = [float(outcome.unread not in NOT_UNPARSED) for outcome in outcomes]
    yield "unparsed", share(unparsed).value
    yield "truncated", share([float(outcome.truncated) for outcome in outcomes]).value
    yield "left_out", share([float(outcome.left_out) for outcome in outcomes]).value
    yield "total_count", len(outcomes)
    for name in SHOWN:
        estimate = from_draws(values[name], draws[name]) if draws else Estimate(nan, nan, nan)
        yield from interval(name, estimate)
        if name == "f1_macro":
            # Inspect's dataframes and viewer take a metric of this name as the error bar.
            yield "stderr", estimate.stderr


def point_figures(totals: Sequence[float], samples: int) -> tuple[float, ...]:
    """The figures from the sums of VALUES over samples, in the order of FIGURES.

    Nothing flagged has a precision of 0, as in the published script; a recall of no erroneous
    section at all is undefined.
    """
    if samples == 0:
        return (nan,) * len(FIGURES)
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
    """The figures of RESAMPLES resamples of the samples, drawn with replacement.

    Resampling is a multinomial draw over the distinct rows: the same distribution, and faster.
    """
    import numpy as np

    cells, counts = np.unique(np.array(rows, dtype=np.float64), axis=0, return_counts=True)
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(len(rows), counts / len(rows), size=RESAMPLES)
    sums: NDArray[np.float64] = drawn @ cells
    macro = [sums[:, i] / len(rows) for i in range(3)]
    hits, false_alarms, missed = sums[:, 3], sums[:, 4], sums[:, 5]
    precision = _divided(hits, hits + false_alarms, 0.0)
    recall = _divided(hits, hits + missed, nan)
    f1 = _divided(2 * precision * recall, precision + recall, 0.0)
    return [*macro, precision, recall, np.where(np.isnan(recall), nan, f1)]


def _divided(part: Draws, whole: Draws, otherwise: float) -> Draws:
    import numpy as np

    result: Draws = np.full(part.shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
