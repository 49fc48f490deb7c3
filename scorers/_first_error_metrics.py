"""The metrics of first-error detection.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty. A run registers few metrics.
`first_error_table` has all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

from misstep.plain_text import metric_values
from misstep.samples import LabelMetadata
from misstep.scorers._intervals import Estimate, f1_estimate, mean_estimate, share
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
    yield from _set_metrics(samples, epochs)
    yield "stderr", f1_of(samples).stderr
    yield from _voting_metrics([one for one in _samples(epochs) if one.voting.get("asked")])
    subsets = _by_subset(samples)
    if not subsets:
        return
    mean = mean_estimate([f1_of(members) for members in subsets.values()])
    yield "mean_subset_f1_score", mean.value
    yield from mean.interval("mean_subset_f1_score")
    for subset, members in subsets.items():
        own = [one for one in epochs if str((one.sample_metadata or {}).get("subset")) == subset]
        for name, value in _set_metrics(members, own):
            yield f"{subset}_{name}", value


def _set_metrics(
    samples: Sequence[FirstErrorSample], epochs: Sequence[SampleScore]
) -> Iterator[tuple[str, float]]:
    """Yield the metrics of one set of samples: the main ones first, then the intervals."""
    estimates = first_error_estimates(samples)
    for name, estimate in estimates.items():
        yield name, estimate.value
    yield from unread_shares(epochs).items()
    yield "error_count", len(_hits(samples, True))
    yield "correct_count", len(_hits(samples, False))
    yield "total_count", len(samples)
    for name, estimate in estimates.items():
        yield from estimate.interval(name)


def first_error_estimates(samples: Sequence[FirstErrorSample]) -> dict[str, Estimate]:
    """Return F1, error accuracy and correct accuracy of a set of samples."""
    return {
        "f1_score": f1_of(samples),
        "error_accuracy": share(_hits(samples, True), _clusters(samples, True)),
        "correct_accuracy": share(_hits(samples, False), _clusters(samples, False)),
    }


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


def _clusters(samples: Sequence[FirstErrorSample], has_error: bool) -> list[str]:
    return [sample.cluster for sample in samples if sample.has_error == has_error]


def f1_of(samples: Sequence[FirstErrorSample]) -> Estimate:
    """Return the F1 of a set of samples."""
    hits = (_hits(samples, has_error) for has_error in (True, False))
    clusters = (_clusters(samples, has_error) for has_error in (True, False))
    return f1_estimate(*hits, *clusters)


def _by_subset(samples: Sequence[FirstErrorSample]) -> dict[str, list[FirstErrorSample]]:
    subsets: dict[str, list[FirstErrorSample]] = {}
    for sample in samples:
        if sample.subset is not None:
            subsets.setdefault(sample.subset, []).append(sample)
    return dict(sorted(subsets.items()))
