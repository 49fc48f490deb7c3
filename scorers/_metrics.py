"""The metrics of first-error detection, from samples that are scored hit or miss.

Inspect calls metrics while a run goes on, with few samples or none: every figure here is defined
for any input, and is nan where its set is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Value, metric, value_to_float

from misstep.scorers._intervals import (
    Draws,
    Estimate,
    f1_draws,
    from_draws,
    harmonic_mean,
    share,
)
from misstep.verdicts import Unread

_hit = value_to_float()
NOT_UNPARSED = (None, Unread.TRUNCATED, Unread.NOT_RECORDED)


@dataclass(frozen=True)
class Outcome:
    """What the metrics need to know of one scored sample."""

    hit: float
    has_error: bool
    subset: str | None
    unread: str | None
    """Why no verdict was read, if none was."""
    voting: dict[str, Any]
    """The record of the vote, empty where there was none."""


@metric(name="first_error_metrics")
def first_error_metrics() -> Metric:
    """F1, error accuracy and correct accuracy with intervals, counts and shares, by subset too."""

    def compute(scores: list[SampleScore]) -> Value:
        outcomes = [outcome_of(score.score, score.sample_metadata or {}) for score in scores]
        return dict(_figures(outcomes))

    return compute


def outcome_of(score: Score, sample_metadata: dict[str, object]) -> Outcome:
    """The outcome that a score and its sample's metadata hold."""
    subset = sample_metadata.get("subset")
    metadata = score.metadata or {}
    return Outcome(
        hit=_hit(score.value),
        has_error=bool(sample_metadata["has_error"]),
        subset=None if subset is None else str(subset),
        unread=metadata.get("unread"),
        voting=metadata.get("voting") or {},
    )


def _figures(outcomes: list[Outcome]) -> Iterator[tuple[str, float]]:
    f1, _ = _f1_estimate(outcomes)
    yield from _set_figures(outcomes, f1)
    # Inspect's dataframes and viewer take a metric of this name as the headline's error bar.
    yield "stderr", f1.stderr
    yield from _voting_figures([outcome for outcome in outcomes if outcome.voting.get("asked")])
    subsets = _by_subset(outcomes)
    if not subsets:
        return
    estimates = {name: _f1_estimate(members) for name, members in subsets.items()}
    own_draws = [draws for _, draws in estimates.values()]
    own_scores = [estimate.value for estimate, _ in estimates.values()]
    mean = from_draws(sum(own_scores) / len(subsets), reduce(add, own_draws) / len(subsets))
    yield "mean_subset_f1_score", mean.value
    yield from interval("mean_subset_f1_score", mean)
    for subset, members in subsets.items():
        for name, value in _set_figures(members, estimates[subset][0]):
            yield f"{subset}_{name}", value


def _set_figures(outcomes: list[Outcome], f1: Estimate) -> Iterator[tuple[str, float]]:
    """The figures of one set of samples: first what people look at, then the intervals."""
    errors, corrects = _hits(outcomes, True), _hits(outcomes, False)
    scores = {
        "f1_score": f1,
        "error_accuracy": share(errors),
        "correct_accuracy": share(corrects),
    }
    for name, estimate in scores.items():
        yield name, estimate.value
    cut = [float(outcome.unread == Unread.TRUNCATED) for outcome in outcomes]
    unparsed = [float(outcome.unread not in NOT_UNPARSED) for outcome in outcomes]
    yield "unparsed", share(unparsed).value
    yield "truncated", share(cut).value
    yield "error_count", len(errors)
    yield "correct_count", len(corrects)
    yield "total_count", len(outcomes)
    for name, estimate in scores.items():
        yield from interval(name, estimate)


def _voting_figures(voted: list[Outcome]) -> Iterator[tuple[str, float]]:
    """Agreement, what adaptive voting saved, and the score at fewer votes from the same votes."""
    if not voted:
        return
    asked = sum(outcome.voting["asked"] for outcome in voted)
    drawn = sum(len(outcome.voting["votes"]) for outcome in voted)
    yield "agreement", sum(outcome.voting["agreement"] for outcome in voted) / len(voted)
    yield "votes_drawn", drawn / len(voted)
    yield "votes_saved", 1 - drawn / asked
    for k in voted[0].voting["hits_at"]:
        at_k = [replace(outcome, hit=outcome.voting["hits_at"][k]) for outcome in voted]
        yield f"f1_score_at_{k}", f1_score(at_k)


def interval(name: str, estimate: Estimate) -> Iterator[tuple[str, float]]:
    """The two ends of a figure's interval, as figures of their own."""
    yield f"{name}_lower", estimate.lower
    yield f"{name}_upper", estimate.upper


def f1_score(outcomes: Sequence[Outcome]) -> float:
    """The harmonic mean of error accuracy and correct accuracy; nan where one is undefined."""
    return harmonic_mean(*(share(_hits(outcomes, which)).value for which in (True, False)))


def _hits(outcomes: Sequence[Outcome], has_error: bool) -> list[float]:
    return [outcome.hit for outcome in outcomes if outcome.has_error == has_error]


def _f1_estimate(outcomes: Sequence[Outcome]) -> tuple[Estimate, Draws]:
    """F1 with its interval, and the draws that the interval was made of."""
    draws = f1_draws(_hits(outcomes, True), _hits(outcomes, False))
    return from_draws(f1_score(outcomes), draws), draws


def _by_subset(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    subsets: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.subset is not None:
            subsets.setdefault(outcome.subset, []).append(outcome)
    return dict(sorted(subsets.items()))
