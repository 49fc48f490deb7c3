"""The metrics of first-error detection.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata
from misstep.scorers._intervals import Draws, Estimate, f1_draws, from_draws, harmonic_mean, share
from misstep.verdicts import Unread

_hit = value_to_float()
NOT_UNPARSED = (None, Unread.TRUNCATED, Unread.NOT_RECORDED)


@dataclass(frozen=True)
class FirstErrorSample:
    """What the metrics need of one scored sample."""

    hit: float
    has_error: bool
    subset: str | None
    unread: str | None
    """Why no verdict was read, or None."""
    voting: dict[str, Any]
    """The record of the vote, empty without a vote."""


@metric(name="first_error_metrics")
def first_error_metrics() -> Metric:
    """F1, error accuracy and correct accuracy with intervals, counts and shares, also by subset."""

    def compute(scores: list[SampleScore]) -> Value:
        return metric_values(_metrics([_sample(score) for score in scores]))

    return compute


def _sample(scored: SampleScore) -> FirstErrorSample:
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    metadata = scored.score.metadata or {}
    return FirstErrorSample(
        hit=_hit(scored.score.value),
        has_error=about.has_error,
        subset=about.subset,
        unread=metadata.get("unread"),
        voting=metadata.get("voting") or {},
    )


def _metrics(samples: list[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    f1, _ = _f1_estimate(samples)
    yield from _set_metrics(samples, f1)
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", f1.stderr
    yield from _voting_metrics([sample for sample in samples if sample.voting.get("asked")])
    subsets = _by_subset(samples)
    if not subsets:
        return
    estimates = {name: _f1_estimate(members) for name, members in subsets.items()}
    own_draws = [draws for _, draws in estimates.values()]
    own_scores = [estimate.value for estimate, _ in estimates.values()]
    mean = from_draws(sum(own_scores) / len(subsets), reduce(add, own_draws) / len(subsets))
    yield "mean_subset_f1_score", mean.value
    yield from mean.interval("mean_subset_f1_score")
    for subset, members in subsets.items():
        for name, value in _set_metrics(members, estimates[subset][0]):
            yield f"{subset}_{name}", value


def _set_metrics(samples: list[FirstErrorSample], f1: Estimate) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    errors, corrects = _hits(samples, True), _hits(samples, False)
    scores = {"f1_score": f1, "error_accuracy": share(errors), "correct_accuracy": share(corrects)}
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
        yield f"f1_score_at_{k}", _f1_score(at_k)


def _f1_score(samples: Sequence[FirstErrorSample]) -> float:
    """Return the harmonic mean of error accuracy and correct accuracy; nan if one is undefined."""
    return harmonic_mean(*(share(_hits(samples, which)).value for which in (True, False)))


def _hits(samples: Sequence[FirstErrorSample], has_error: bool) -> list[float]:
    return [sample.hit for sample in samples if sample.has_error == has_error]


def _f1_estimate(samples: Sequence[FirstErrorSample]) -> tuple[Estimate, Draws]:
    """Return F1 with its interval, and the draws that the interval comes from."""
    draws = f1_draws(_hits(samples, True), _hits(samples, False))
    return from_draws(_f1_score(samples), draws), draws


def _by_subset(samples: Sequence[FirstErrorSample]) -> dict[str, list[FirstErrorSample]]:
    subsets: dict[str, list[FirstErrorSample]] = {}
    for sample in samples:
        if sample.subset is not None:
            subsets.setdefault(sample.subset, []).append(sample)
    return dict(sorted(subsets.items()))
