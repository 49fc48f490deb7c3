"""The scorers for the labels of all steps: ours and published, from the same output."""

from collections.abc import Sequence
from typing import Any, Literal

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.samples import SolutionMetadata, StepLabelsMetadata, critic_verdict
from misstep.scorers._first_error import votes_of
from misstep.scorers._step_label_metrics import published_step_label_metrics, step_label_metrics
from misstep.scorers._step_label_replies import StepLabels, first_wrong_label, first_wrong_published
from misstep.scorers._votes import tally
from misstep.verdicts import NO_ERROR, Unread, Verdict

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
        value={"steps": right / len(gold), "first_error": float(hit)},
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
