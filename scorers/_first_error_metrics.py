"""The metrics of first-error detection.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata
from misstep.scorers._intervals import Estimate, f1_estimate, mean_estimate, share
from misstep.verdicts import Unread

_hit = value_to_float()
NOT_UNPARSED = (None, Unread.TRUNCATED)


@dataclass(frozen=True)
class FirstErrorSample:
    """What the metrics need of one scored sample."""

    hit: float
    has_error: bool
    subset: str | None
    cluster: str
    unread: str | None
    """Why no verdict was read, or None."""
    voting: dict[str, Any]
    """The record of the vote, empty without a vote."""


@metric(name="first_error_metrics")
def first_error_metrics() -> Metric:
    """F1, error accuracy and correct accuracy with intervals, counts and shares, also by subset."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics([_sample(score, i) for i, score in enumerate(scores)]))

    return compute


def _sample(scored: SampleScore, number: int) -> FirstErrorSample:
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    metadata = scored.score.metadata or {}
    return FirstErrorSample(
        hit=_hit(scored.score.value),
        has_error=about.has_error,
        subset=about.subset,
        cluster=about.cluster or f"sample {number}",
        unread=metadata.get("unread"),
        voting=metadata.get("voting") or {},
    )


def _metrics(samples: list[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    f1 = _f1(samples)
    yield from _set_metrics(samples, f1)
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", f1.stderr
    yield from _voting_metrics([sample for sample in samples if sample.voting.get("asked")])
    subsets = _by_subset(samples)
    if not subsets:
        return
    estimates = {name: _f1(members) for name, members in subsets.items()}
    mean = mean_estimate(list(estimates.values()))
    yield "mean_subset_f1_score", mean.value
    yield from mean.interval("mean_subset_f1_score")
    for subset, members in subsets.items():
        for name, value in _set_metrics(members, estimates[subset]):
            yield f"{subset}_{name}", value


def _set_metrics(samples: list[FirstErrorSample], f1: Estimate) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    errors, corrects = _hits(samples, True), _hits(samples, False)
    scores = {
        "f1_score": f1,
        "error_accuracy": share(errors, _clusters(samples, True)),
        "correct_accuracy": share(corrects, _clusters(samples, False)),
    }
    for name, estimate in scores.items():
        yield name, estimate.value
    cut = [float(sample.unread == Unread.TRUNCATED) for sample in samples]
    unparsed = [float(sample.unread not in NOT_UNPARSED) for sample in samples]
    yield "unparsed", share(unparsed).value
    yield "truncated", share(cut).value
    yield "error_count", len(errors)
    yield "correct_count", len(corrects)
    yield "total_count", len(samples)
    for name, estimate in scores.items():
        yield from estimate.interval(name)


def _voting_metrics(voted: list[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    """Yield agreement, the votes that adaptive voting saved, and F1 at fewer of the same votes."""
    if not voted:
        return
    asked = sum(sample.voting["asked"] for sample in voted)
    drawn = sum(len(sample.voting["votes"]) for sample in voted)
    yield "agreement", sum(sample.voting["agreement"] for sample in voted) / len(voted)
    yield "votes_drawn", drawn / len(voted)
    yield "votes_saved", 1 - drawn / asked
    for k in voted[0].voting["hits_at"]:
        at_k = [replace(sample, hit=sample.voting["hits_at"][k]) for sample in voted]
        yield f"f1_score_at_{k}", _f1(at_k).value


def _hits(samples: Sequence[FirstErrorSample], has_error: bool) -> list[float]:
    return [sample.hit for sample in samples if sample.has_error == has_error]


def _clusters(samples: Sequence[FirstErrorSample], has_error: bool) -> list[str]:
    return [sample.cluster for sample in samples if sample.has_error == has_error]


def _f1(samples: Sequence[FirstErrorSample]) -> Estimate:
    hits = (_hits(samples, has_error) for has_error in (True, False))
    clusters = (_clusters(samples, has_error) for has_error in (True, False))
    return f1_estimate(*hits, *clusters)


def _by_subset(samples: Sequence[FirstErrorSample]) -> dict[str, list[FirstErrorSample]]:
    subsets: dict[str, list[FirstErrorSample]] = {}
    for sample in samples:
        if sample.subset is not None:
            subsets.setdefault(sample.subset, []).append(sample)
    return dict(sorted(subsets.items()))
