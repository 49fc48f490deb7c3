"""MR-Score and its parts: correctness, the first wrong step, and the reason.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import cast

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata
from misstep.scorers._first_error_metrics import NOT_UNPARSED
from misstep.scorers._intervals import Draws, from_draws, harmonic_mean, multinomial_draws, share
from misstep.verdicts import Unread

_MARK, _STEP, _REASON = 0.2, 0.3, 0.5
"""The published weights."""


@dataclass(frozen=True)
class MarkingSample:
    """What the metrics need of one scored sample."""

    mark: float
    step: float
    """nan for a correct solution, which has no wrong step."""
    reason: float
    """nan for a correct solution, and without a grader."""
    first_error: float
    has_error: bool
    usable: bool
    """Whether the label can be compared with a verdict."""
    subset: str
    cluster: str
    unread: str | None
    graded: bool


_PARTS = ("mr_score_without_reason", "mcc", "task2_accuracy", "task3_accuracy", "mr_score")
_REGISTERED = (
    *(*_PARTS, "unparsed", "truncated", "stderr"),
    *("mr_score_without_reason_lower", "mr_score_without_reason_upper"),
)


@metric(name="marking_metrics")
def marking_metrics(published: bool = False) -> Metric:
    """MR-Score without and with its graded part, and its parts.

    The parts are means over subjects, as published. An undefined MCC is 0 in the published code.
    """

    def compute(scores: list[SampleScore]) -> Value:
        found = marking_table(scores, published)
        names = _PARTS if published else _REGISTERED
        return {name: found[name] for name in names if name in found}

    return compute


def marking_table(scores: Sequence[SampleScore], published: bool = False) -> dict[str, float]:
    """Return every metric of marks, also the view of first errors."""
    return metric_values(_metrics([_sample(score) for score in scores], published))


def _sample(scored: SampleScore) -> MarkingSample:
    values, metadata = scored.score.as_dict(), scored.score.metadata or {}
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    numbers = {name: float(cast(float, value)) for name, value in values.items()}
    return MarkingSample(
        mark=numbers["mark"],
        step=numbers.get("step", nan),
        reason=numbers.get("reason", nan),
        first_error=numbers["first_error"],
        has_error=about.has_error,
        usable="label_problem" not in metadata,
        subset=about.subset or "",
        cluster=about.cluster or str(scored.sample_id),
        unread=metadata.get("unread"),
        graded=bool(metadata.get("graded")),
    )


def _metrics(samples: list[MarkingSample], published: bool) -> Iterator[tuple[str, float]]:
    subjects = list(_by_subset(samples).values())
    parts = [subject_parts(members) for members in subjects]
    if published:
        parts = [(0.0 if isnan(mcc) else mcc, step, reason) for mcc, step, reason in parts]
    mcc, step, reason = (_mean([part[i] for part in parts]) for i in range(3))
    cut = _mean([max(0.0, part[0]) if part[0] == part[0] else nan for part in parts])
    questions = len({(sample.subset, sample.cluster) for sample in samples})
    score = from_draws(_weighted(cut, step), _draws(subjects), questions)
    yield "mr_score_without_reason", score.value
    yield "mcc", mcc
    yield "task2_accuracy", step
    if samples and all(sample.graded for sample in samples):
        # Only a graded run has an MR-Score.
        yield "task3_accuracy", reason
        yield "mr_score", _MARK * cut + _STEP * step + _REASON * reason
    usable = [sample for sample in samples if sample.usable]
    wrong = [sample.first_error for sample in usable if sample.has_error]
    right = [sample.first_error for sample in usable if not sample.has_error]
    yield "f1_score", harmonic_mean(share(wrong).value, share(right).value)
    yield "error_accuracy", share(wrong).value
    yield "correct_accuracy", share(right).value
    unparsed = [float(sample.unread not in NOT_UNPARSED) for sample in samples]
    yield "unparsed", share(unparsed).value
    yield "truncated", share([float(one.unread == Unread.TRUNCATED) for one in samples]).value
    yield "total_count", len(samples)
    yield from score.interval("mr_score_without_reason")
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", score.stderr


def _weighted(cut: float, step: float) -> float:
    """Return the published weights without the reason, scaled to 1."""
    return (_MARK * cut + _STEP * step) / (_MARK + _STEP)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return sum(known) / len(known) if known else nan


def _by_subset(samples: Sequence[MarkingSample]) -> dict[str, list[MarkingSample]]:
    subsets: dict[str, list[MarkingSample]] = {}
    for sample in samples:
        subsets.setdefault(sample.subset, []).append(sample)
    return subsets


def subject_parts(samples: Sequence[MarkingSample]) -> tuple[float, float, float]:
    """Return MCC, and the shares of wrong solutions whose step and reason are right.

    An unreadable mark is an error of its class, so MCC is defined by the right marks alone.
    """
    wrong = [sample for sample in samples if sample.has_error]
    right = [sample for sample in samples if not sample.has_error]
    tp, tn = sum(one.mark for one in right), sum(one.mark for one in wrong)
    mcc = _mcc(tp, tn, len(wrong) - tn, len(right) - tp)
    if not wrong:
        return mcc, nan, nan
    shares = (sum(one.step for one in wrong), sum(one.reason for one in wrong))
    return mcc, shares[0] / len(wrong), shares[1] / len(wrong)


def _draws(subjects: Sequence[Sequence[MarkingSample]]) -> Draws:
    """Return MR-Score without reason of resamples of the questions, drawn in each subject."""
    import numpy as np

    scores = []
    for samples in subjects:
        sums: dict[str, list[float]] = {}
        for one in samples:
            own = sums.setdefault(one.cluster, [0.0] * 5)
            place = 2 if one.has_error else 0
            own[place] += 1
            own[place + 1] += one.mark
            own[4] += one.step if one.has_error else 0
        cells, counts = np.unique(np.array(list(sums.values())), axis=0, return_counts=True)
        right, tp, wrong, tn, steps = (multinomial_draws(counts) @ cells).T
        fp, fn = wrong - tn, right - tp
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
            mcc = np.nan_to_num(np.maximum(0.0, (tp * tn - fp * fn) / root))
            scores.append((_MARK * mcc + _STEP * steps / wrong) / (_MARK + _STEP))
    if not scores:
        return np.full(1, nan)
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        # A resample without any wrong solution has no score.
        draws: Draws = np.sum(scores, axis=0, where=known, initial=0.0) / known.sum(axis=0)
    return draws


def _mcc(tp: float, tn: float, fp: float, fn: float) -> float:
    root = sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / root if root else nan
