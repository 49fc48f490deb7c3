"""The metrics of first-error detection.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty. A run registers few metrics.
`first_error_table` has all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata
from misstep.scorers._intervals import Estimate, class_estimates, f1_estimate, mean_estimate, share
from misstep.verdicts import Unread

_hit = value_to_float()
NOT_UNPARSED = (None, Unread.TRUNCATED)
Registers: TypeAlias = Literal["all", "main", "none"]
REGISTERS = "registers"
"""The key of a score's metadata that says which metrics a run has in its results."""
MOST_SUBSETS = 4
"""A run of at most so many subsets has the F1 of each in its results. A run of more has them in
`first_error_table` only."""


@dataclass(frozen=True)
class FirstErrorSample:
    """What the metrics need of one scored sample."""

    hit: float
    has_error: bool
    subset: str | None
    cluster: str
    voting: dict[str, Any]
    """The record of the vote, empty without a vote."""


def first_error_sample(scored: SampleScore, number: int) -> FirstErrorSample:
    """Return a scored sample. Its number is its cluster if its metadata name none."""
    about = LabelMetadata.model_validate(scored.sample_metadata or {})
    return FirstErrorSample(
        hit=_hit(scored.score.value),
        has_error=about.has_error,
        subset=about.subset,
        cluster=about.cluster or f"sample {number}",
        voting=(scored.score.metadata or {}).get("voting") or {},
    )


@metric(name="first_error_metrics")
def first_error_metrics() -> Metric:
    """F1 and the accuracies with intervals, the counts, and the F1 of up to four subsets."""

    def compute(scores: list[SampleScore]) -> Value:
        registers = _registers(scores)
        if registers == "none":
            return {}
        return metric_values((_main if registers == "main" else _registered)(_samples(scores)))

    return compute


def _registers(scores: Sequence[SampleScore]) -> Registers:
    found: Registers = (scores[0].score.metadata or {}).get(REGISTERS, "all") if scores else "all"
    return found


@metric(name="reply_metrics", scores="unreduced")
def reply_metrics() -> Metric:
    """The shares of replies without a verdict, over all epochs."""

    def compute(scores: list[SampleScore]) -> Value:
        return {} if _registers(scores) == "none" else dict(unread_shares(scores))

    return compute


def unread_shares(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return the share of replies that were cut off, and of others that give no verdict."""
    records = [epoch.score.metadata or {} for epoch in epochs]
    unparsed = [float(record.get("unread") not in NOT_UNPARSED) for record in records]
    return {
        "unparsed": share(unparsed).value,
        "truncated": share([float(is_truncated(record)) for record in records]).value,
    }


def is_truncated(record: dict[str, Any]) -> bool:
    """Return whether a score's metadata say that the reply was cut off."""
    return record.get("unread") == Unread.TRUNCATED or bool(record.get("truncated"))


def first_error_table(
    scores: Sequence[SampleScore], epochs: Sequence[SampleScore]
) -> dict[str, float]:
    """Return every metric of first-error detection, also by subset and at fewer votes.

    Args:
        scores: One score for each sample: epochs are reduced.
        epochs: The scores of all epochs.
    """
    return metric_values(_all_metrics(_samples(scores), epochs))


def _samples(scores: Sequence[SampleScore]) -> list[FirstErrorSample]:
    return [first_error_sample(score, number) for number, score in enumerate(scores)]


def _main(samples: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    estimates = first_error_estimates(samples)
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from estimates["f1_score"].interval("f1_score")
    yield "stderr", estimates["f1_score"].stderr


def _registered(samples: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
    """Yield at most 13 metrics, the main ones first."""
    estimates = first_error_estimates(samples)
    for name, estimate in estimates.items():
        yield name, estimate.value
    f1 = estimates.pop("f1_score")
    yield from f1.interval("f1_score")
    subsets = _by_subset(samples)
    if 1 < len(subsets) <= MOST_SUBSETS:
        of_subsets = {name: f1_of(members) for name, members in subsets.items()}
        yield "mean_subset_f1_score", mean_estimate(list(of_subsets.values())).value
        for name, estimate in of_subsets.items():
            yield f"{name}_f1_score", estimate.value
    else:
        for name, estimate in estimates.items():
            yield from estimate.interval(name)
    yield "error_count", len(_hits(samples, True))
    yield "correct_count", len(_hits(samples, False))
    # Inspect's dataframes and viewer take a metric of this name as the error bar of the headline.
    yield "stderr", f1.stderr


def _all_metrics(
    samples: Sequence[FirstErrorSample], epochs: Sequence[SampleScore]
) -> Iterator[tuple[str, float]]:
    whole = first_error_estimates(samples)
    yield from _set_metrics(whole, samples, epochs)
    yield "stderr", whole["f1_score"].stderr
    voted = [epoch for epoch in epochs if (epoch.score.metadata or {}).get("voting")]
    yield from _voting_metrics([one for one in _samples(voted) if one.voting.get("asked")])
    subsets = _by_subset(samples)
    if not subsets:
        return
    parts = {name: first_error_estimates(members) for name, members in subsets.items()}
    mean = mean_estimate([part["f1_score"] for part in parts.values()])
    yield "mean_subset_f1_score", mean.value
    yield from mean.interval("mean_subset_f1_score")
    by_subset: dict[str, list[SampleScore]] = {}
    for epoch in epochs:
        name = str((epoch.sample_metadata or {}).get("subset"))
        by_subset.setdefault(name, []).append(epoch)
    for subset, members in subsets.items():
        for name, value in _set_metrics(parts[subset], members, by_subset.get(subset, [])):
            yield f"{subset}_{name}", value


def _set_metrics(
    estimates: Mapping[str, Estimate],
    samples: Sequence[FirstErrorSample],
    epochs: Sequence[SampleScore],
) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from unread_shares(epochs).items()
    errors = sum(sample.has_error for sample in samples)
    yield "error_count", errors
    yield "correct_count", len(samples) - errors
    yield "total_count", len(samples)
    for name, estimate in estimates.items():
        yield from estimate.interval(name)


def first_error_estimates(samples: Sequence[FirstErrorSample]) -> dict[str, Estimate]:
    """Return F1, error accuracy and correct accuracy of a set of samples."""
    names = ("f1_score", "error_accuracy", "correct_accuracy")
    return dict(zip(names, class_estimates(*_classes(samples)), strict=True))


def _voting_metrics(voted: Sequence[FirstErrorSample]) -> Iterator[tuple[str, float]]:
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
        yield f"f1_score_at_{k}", f1_of(at_k).value


def _hits(samples: Sequence[FirstErrorSample], has_error: bool) -> list[float]:
    return [sample.hit for sample in samples if sample.has_error == has_error]


def _classes(
    samples: Sequence[FirstErrorSample],
) -> tuple[list[float], list[float], list[str], list[str]]:
    """Return the hits of samples with and without an error, then their clusters."""
    errors = [one for one in samples if one.has_error]
    corrects = [one for one in samples if not one.has_error]
    return (
        [one.hit for one in errors],
        [one.hit for one in corrects],
        [one.cluster for one in errors],
        [one.cluster for one in corrects],
    )


def f1_of(samples: Sequence[FirstErrorSample]) -> Estimate:
    """Return the F1 of a set of samples."""
    return f1_estimate(*_classes(samples))


def _by_subset(samples: Sequence[FirstErrorSample]) -> dict[str, list[FirstErrorSample]]:
    subsets: dict[str, list[FirstErrorSample]] = {}
    for sample in samples:
        if sample.subset is not None:
            subsets.setdefault(sample.subset, []).append(sample)
    return dict(sorted(subsets.items()))
