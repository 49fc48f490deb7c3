"""The metrics of labelled steps: StepAcc, FirstErrAcc, F1 of the labels, AUROC of rewards.

Inspect computes metrics during a run, with few samples or none. Every metric here is defined for
any input. It is nan if its set of samples is empty.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata, StepLabelsMetadata
from misstep.scorers._intervals import share

LABELS = (-1, 0, 1)


@dataclass(frozen=True)
class StepCounts:
    """The steps and trajectories of a set of samples."""

    pairs: Counter[tuple[int, int | None]]
    """The number of steps with each label and each judgement; None for an unread one."""
    first_errors: int
    """Trajectories whose first wrong step is right, or that have none and were given none."""
    exact: int
    """Trajectories whose labels are all right."""
    total: int
    rewards: Sequence[tuple[float, bool]]
    """The reward of each step that has one, and whether the step is wrong."""

    @property
    def step_accuracy(self) -> float:
        """The share of steps that are judged as labelled: the published StepAcc."""
        right = sum(count for (label, judged), count in self.pairs.items() if label == judged)
        return _ratio(right, self.pairs.total())

    @property
    def first_error_accuracy(self) -> float:
        """The share of trajectories with the right first wrong step: the published FirstErrAcc."""
        return _ratio(self.first_errors, self.total)

    @property
    def exact_accuracy(self) -> float:
        """The share of trajectories whose labels are all right."""
        return _ratio(self.exact, self.total)

    @property
    def unread_steps(self) -> float:
        """The share of steps without a judgement."""
        unread = sum(count for (_, judged), count in self.pairs.items() if judged is None)
        return _ratio(unread, self.pairs.total())

    def label_f1(self, label: int) -> float:
        """Return the F1 of one label: 0 if it is never right, nan if it never occurs."""
        known = sum(count for (gold, _), count in self.pairs.items() if gold == label)
        judged = sum(count for (_, given), count in self.pairs.items() if given == label)
        return _ratio(2 * self.pairs[label, label], known + judged)

    @property
    def step_macro_f1(self) -> float:
        """The mean of the F1s of the three labels."""
        return sum(map(self.label_f1, LABELS)) / len(LABELS)

    @property
    def step_auroc(self) -> float:
        """The probability that a wrong step has a smaller reward than another step."""
        wrong = sorted(reward for reward, is_wrong in self.rewards if is_wrong)
        others = [reward for reward, is_wrong in self.rewards if not is_wrong]
        if not wrong or not others:
            return nan
        # Equal rewards count as half.
        below = sum(bisect_left(wrong, one) + bisect_right(wrong, one) for one in others)
        return below / (2 * len(wrong) * len(others))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else nan


def step_counts(scored: Iterable[tuple[dict[str, Any], Sequence[int]]]) -> StepCounts:
    """Return the counts of scores, each with its metadata and the true labels of its steps."""
    pairs: Counter[tuple[int, int | None]] = Counter()
    first_errors = exact = total = 0
    rewards: list[tuple[float, bool]] = []
    for metadata, labels in scored:
        judged = metadata["labels"]
        pairs.update(zip(labels, judged, strict=True))
        first_errors += bool(metadata["first_error_right"])
        exact += list(labels) == judged
        total += 1
        for reward, label in zip(metadata.get("rewards") or (), labels, strict=False):
            if reward is not None:
                rewards.append((reward, label == -1))
    return StepCounts(pairs, first_errors, exact, total, rewards)


# A mean over epochs loses the labels, so the metrics count every epoch.
@metric(name="step_label_metrics", scores="unreduced")
def step_label_metrics() -> Metric:
    """Step accuracy, first-error accuracy, macro F1 of labels, the share of unread steps."""

    def compute(scores: list[SampleScore]) -> Value:
        return dict(_metrics(step_counts(map(_sample, scores))))

    return compute


@metric(name="published_step_label_metrics", scores="unreduced")
def published_step_label_metrics() -> Metric:
    """StepAcc and FirstErrAcc by the published rule."""

    def compute(scores: list[SampleScore]) -> Value:
        counts = step_counts(map(_sample, scores))
        return {
            "step_accuracy": counts.step_accuracy,
            "first_error_accuracy": counts.first_error_accuracy,
        }

    return compute


def step_label_table(epochs: Sequence[SampleScore]) -> dict[str, float]:
    """Return every metric of labelled steps: with the interval of FirstErrAcc, and of each set.

    `call_step_accuracy` and `text_step_accuracy` are over the steps that call a tool, or do not.
    """
    return metric_values(_all_metrics(epochs))


def _all_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    yield from _set_metrics(epochs)
    sets: dict[str, list[SampleScore]] = {}
    for one in epochs:
        sets.setdefault(str((one.sample_metadata or {}).get("subset") or ""), []).append(one)
    for name, members in sets.items() if len(sets) > 1 else ():
        for metric_name, value in _set_metrics(members):
            yield f"{name}_{metric_name}", value
    for kind, (right, steps) in _by_kind(epochs).items():
        yield f"{kind}_step_accuracy", right / steps
        yield f"{kind}_step_count", steps


def _by_kind(epochs: Sequence[SampleScore]) -> dict[str, tuple[int, int]]:
    """Return the steps that are judged as labelled, and all steps, by kind: call or text."""
    right: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for one in epochs:
        about = StepLabelsMetadata.model_validate(one.sample_metadata or {})
        judged = (one.score.metadata or {})["labels"]
        for kind, label, given in zip(about.step_kinds, about.step_labels, judged, strict=False):
            steps[kind] += 1
            right[kind] += label == given
    return {kind: (right[kind], steps[kind]) for kind in sorted(steps)}


def _set_metrics(epochs: Sequence[SampleScore]) -> Iterator[tuple[str, float]]:
    counts = step_counts(map(_sample, epochs))
    yield from _metrics(counts)
    yield "exact", counts.exact_accuracy
    hits = [float((one.score.metadata or {})["first_error_right"]) for one in epochs]
    estimate = share(hits, [_cluster(one) for one in epochs])
    yield from estimate.interval("first_error_accuracy")


def _sample(scored: SampleScore) -> tuple[dict[str, Any], list[int]]:
    about = StepLabelsMetadata.model_validate(scored.sample_metadata or {})
    return scored.score.metadata or {}, about.step_labels


def _cluster(scored: SampleScore) -> str:
    """Return the query that a sample belongs to. Trajectories of one query are not independent."""
    return GroupMetadata.model_validate(scored.sample_metadata or {}).cluster or str(
        scored.sample_id
    )


def _metrics(counts: StepCounts) -> Iterator[tuple[str, float]]:
    yield "step_accuracy", counts.step_accuracy
    yield "first_error_accuracy", counts.first_error_accuracy
    yield "step_macro_f1", counts.step_macro_f1
    yield "unread_steps", counts.unread_steps
    if counts.rewards:
        yield "step_auroc", counts.step_auroc
