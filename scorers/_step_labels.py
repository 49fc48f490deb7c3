"""The labels of all steps: what a reply gives, and the scores; by our rule and the published one.

The reply is a JSON object with `step_labels`, from the name of a step to -1, 0 or 1. By our rule a
label that is missing or is none of these stays unread. The published rule takes it for 0.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.samples import SolutionMetadata, StepLabelsMetadata
from misstep.scorers._first_error import votes_of
from misstep.scorers._step_label_metrics import published_step_label_metrics, step_label_metrics
from misstep.scorers._votes import tally
from misstep.stores import critic_verdict
from misstep.verdicts import NO_ERROR, Unread, Verdict

_LABELS = (-1, 0, 1)
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
    if isinstance(value, int) and not isinstance(value, bool) and value in _LABELS:
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
    return label if label in _LABELS else 0


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
