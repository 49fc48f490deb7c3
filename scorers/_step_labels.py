"""The labels of all steps: what a reply gives, and its scores, by our rule and the published one.

The reply is a JSON object with `step_labels`, from the name of a step to -1, 0 or 1. By our rule a
label that is missing or is none of these stays unread. The published rule takes it for 0.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from misstep.plain_text import metric_values
from misstep.samples import GroupMetadata, SolutionMetadata, StepLabelsMetadata
from misstep.scorers._first_error import votes_of
from misstep.scorers._intervals import share
from misstep.scorers._votes import tally
from misstep.stores import critic_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

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


_PUBLISHED_FENCE = re.compile(r"```json\s*([\s\S]*?)\s*```", re.IGNORECASE)
_PLUS = re.compile(r"(:\s*)\+1\b")
_MOST_OBJECTS = 200
"""How many places in a reply are tried as the start of the JSON object, from the last one."""

StepLabels = list[int | None]
"""The label of each step; None for a label that was not read."""


def read_step_labels(text: str, names: Sequence[str]) -> StepLabels | Unread:
    """Return the labels of the steps with these names, or why the reply has none.

    The last object that has `step_labels` counts, in a fence or not. `+1` is read as 1.
    """
    if not text.strip():
        return Unread.EMPTY
    found = _last_object(text)
    if found is None:
        return Unread.NOT_STRUCTURED
    return [_label(found["step_labels"].get(name)) for name in names]


def read_reason(text: str) -> str | None:
    """Return the reason that a reply gives beside its labels."""
    reason = (_last_object(text) or {}).get("reason")
    return reason if isinstance(reason, str) and reason.strip() else None


def _last_object(text: str) -> Mapping[str, Any] | None:
    """Return the last object that has `step_labels`."""
    text = _PLUS.sub(r"\g<1>1", text)
    decoder = json.JSONDecoder()
    place = len(text)
    for _ in range(_MOST_OBJECTS):
        place = text.rfind("{", 0, place)
        if place < 0:
            break
        try:
            found, _end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(found.get("step_labels"), dict):
            return found  # type: ignore[no-any-return]
    return None


def _label(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("+") in ("-1", "0", "1"):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value in LABELS:
        return value
    return None


def read_step_labels_published(text: str, names: Sequence[str]) -> StepLabels:
    """Return the labels that the published script reads; all None if it fails on the reply.

    It takes the last fence that is marked as json; else the whole text; else the text from the
    brace that balances the last one, where braces inside strings count too.
    """
    found = _published_object(text.strip())
    if found is None:
        return [None] * len(names)
    labels = found.get("step_labels")
    known = labels if isinstance(labels, dict) else {}
    return [_published_label(known.get(name)) for name in names]


def _published_object(text: str) -> Mapping[str, Any] | None:
    fences = _PUBLISHED_FENCE.findall(text)
    for candidate in ([fences[-1].strip()] if fences else []) + [text, _balanced_end(text)]:
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _balanced_end(text: str) -> str:
    """Return the text between the last brace and the one that balances it, or nothing."""
    end = text.rfind("}")
    depth = 0
    for brace in reversed(list(re.finditer(r"[{}]", text[: end + 1]))):
        depth += 1 if brace.group() == "}" else -1
        if depth == 0:
            return text[brace.start() : end + 1]
    return ""


def _published_label(value: object) -> int:
    if isinstance(value, str) and value.strip() in ("-1", "0", "1"):
        return int(value)
    label = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return label if label in LABELS else 0


def first_wrong_label(labels: Sequence[int | None]) -> Verdict | Unread:
    """Return the first step that is labelled -1, unless a step before it has no label."""
    for step, label in enumerate(labels):
        if label is None:
            return Unread.NOT_LABELLED
        if label == -1:
            return step
    return NO_ERROR


def first_wrong_published(labels: Sequence[int | None]) -> Verdict:
    """Return the first step that is labelled -1. Steps without a label count as no error."""
    return next((step for step, label in enumerate(labels) if label == -1), NO_ERROR)


Rule = Literal["ours", "published"]

DERIVED = "derived"
"""The key of a score's metadata that says that the labels follow from the first wrong step."""


@scorer(metrics=[step_label_metrics()])
def step_labels(weighted: bool = False) -> Scorer:
    """Score the label of each step. An unread label is wrong, and never means "no error".

    A critic that names only the first wrong step counts as labelling the steps before it 1, and
    that step and all later ones -1.

    Args:
        weighted: Weight votes by the model's confidence in its tokens.
    """
    return _step_labels("ours", weighted)


@scorer(metrics=[published_step_label_metrics()])
def step_labels_published(weighted: bool = False) -> Scorer:
    """Score the label of each step by AgentProcessBench's script.

    A reply that it cannot read counts as "no error" in the accuracy of first errors.

    Args:
        weighted: Weight votes by the model's confidence in its tokens.
    """
    return _step_labels("published", weighted)


def _step_labels(rule: Rule, weighted: bool) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        gold = state.metadata_as(StepLabelsMetadata).step_labels
        left = critic_verdict(state.store, state.output)
        derived = left is None or left.labels is None
        if left is not None and left.labels is not None:
            other = left.labels_published if rule == "published" else None
            labels = left.labels if other is None else other
        else:
            verdict = tally(votes_of(state, left, "strict", weighted)).verdict
            labels = labels_from(verdict, len(state.metadata_as(SolutionMetadata).steps))
        rewards = left.rewards if left is not None and rule == "ours" else None
        return score_labels(labels, gold, rule, derived, rewards)

    return score


def labels_from(verdict: Verdict | Unread, steps: int) -> StepLabels:
    """Return the labels that a first wrong step stands for: 1 before it, -1 from it on."""
    if isinstance(verdict, Unread) or not NO_ERROR <= verdict < steps:
        return [None] * steps
    right = steps if verdict == NO_ERROR else verdict
    return [1 if step < right else -1 for step in range(steps)]


def score_labels(
    labels: StepLabels,
    gold: Sequence[int],
    rule: Rule,
    derived: bool = False,
    rewards: Sequence[float | None] | None = None,
) -> Score:
    """Score the labels of all steps against the true ones."""
    first = first_wrong_label(labels) if rule == "ours" else first_wrong_published(labels)
    hit = first == first_wrong_published(gold)
    right = sum(label == judged for label, judged in zip(gold, labels, strict=True))
    metadata: dict[str, Any] = {"labels": labels, "first_error_right": hit}
    if derived:
        metadata[DERIVED] = True
    if rewards is not None:
        metadata["rewards"] = list(rewards)
    unread = sum(label is None for label in labels)
    explanation = f"{right} of {len(gold)} steps are judged as labelled"
    if unread:
        explanation += f", {unread} are not judged"
    if derived:
        explanation += "; the labels follow from the first wrong step"
    return Score(
        # For people: the metrics count the labels in the metadata.
        value={"steps": round(right / len(gold), 3), "first_error": float(hit)},
        answer=" ".join("?" if label is None else f"{label:+d}" for label in labels),
        explanation=f"{explanation}.\n\n{_table(labels, gold)}" if rule == "ours" else explanation,
        reason="invalid_response_format" if unread == len(labels) else None,
        metadata=metadata,
    )


def _table(labels: StepLabels, gold: Sequence[int]) -> str:
    rows = ["| step | label | judged |", "| --- | --- | --- |"]
    for step, (label, judged) in enumerate(zip(gold, labels, strict=True)):
        shown = "unread" if judged is None else f"{judged:+d}"
        rows.append(f"| {step} | {label:+d} | {shown if judged == label else f'**{shown}**'} |")
    return "\n".join(rows)
