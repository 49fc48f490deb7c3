"""The first-error scorers: strict and lenient, from the same output."""

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.registry import NO_ERROR
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._verdicts import Reading, Unread, Verdict
from misstep.scorers._votes import Tally, read_vote, tally

REASONS = {
    Unread.NO_BOX: "invalid_response_format",
    Unread.NOT_AN_INDEX: "invalid_response_format",
    Unread.TRUNCATED: "truncated",
    Unread.REFUSED: "refusal",
    Unread.EMPTY: "no_response",
}
"""Inspect's words for why a score is abnormal."""

UNREAD_TEXT = {
    Unread.NO_BOX: r"no \boxed{} in the reply",
    Unread.NOT_AN_INDEX: r"the \boxed{} does not hold one index",
    Unread.TRUNCATED: "the reply was cut off for its length",
    Unread.REFUSED: "the model refused",
    Unread.EMPTY: "the reply is empty",
}


@scorer(metrics=[first_error_metrics()])
def first_error() -> Scorer:
    """Hit or miss of the first wrong step, read strictly: the published rule to the letter."""
    return _first_error("strict")


@scorer(metrics=[first_error_metrics()])
def first_error_lenient() -> Scorer:
    """Hit or miss of the first wrong step, read as the critic evidently meant it."""
    return _first_error("lenient")


@scorer(name="subset", metrics=[])
def subset_column() -> Scorer:
    """The sample's subset, as a column of the viewer. It scores nothing."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=str(state.metadata.get("subset") or ""))

    return score


def _first_error(reading: Reading) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        votes = [read_vote(choice, reading) for choice in state.output.choices]
        if not votes:
            raise ValueError("the model's output has no choices")
        return score_of(tally(votes), int(target.text), state.metadata["steps"])

    return score


def score_of(result: Tally, label: Verdict, steps: list[str]) -> Score:
    """The score of a verdict against a label."""
    verdict = result.verdict
    metadata: dict[str, object] = {}
    if isinstance(verdict, Unread):
        metadata["unread"] = verdict.value
    elif not NO_ERROR <= verdict < len(steps):
        metadata["out_of_range"] = True
    return Score(
        value=CORRECT if verdict == label else INCORRECT,
        answer=None if isinstance(verdict, Unread) else str(verdict),
        explanation=_explanation(verdict, label, steps),
        reason=REASONS[verdict] if isinstance(verdict, Unread) else None,
        metadata=metadata,
    )


def _explanation(verdict: Verdict | Unread, label: Verdict, steps: list[str]) -> str:
    if isinstance(verdict, Unread):
        found = f"No verdict: {UNREAD_TEXT[verdict]}."
    elif verdict == NO_ERROR:
        found = "Predicted: no error."
    elif 0 <= verdict < len(steps):
        found = f"Predicted: step {verdict}."
    else:
        found = f"Predicted: step {verdict}, which does not exist (steps 0 to {len(steps) - 1})."
    if label == NO_ERROR:
        return f"{found} Labelled: no error."
    account = f"{found} Labelled: step {label} of 0 to {len(steps) - 1}{_distance(verdict, label)}."
    quote = "\n".join(f"> {line}" for line in steps[label].splitlines())
    return f"{account}\n\nStep {label}, the first wrong one:\n\n{quote}"


def _distance(verdict: Verdict | Unread, label: Verdict) -> str:
    if isinstance(verdict, Unread) or verdict < 0:
        return ""
    if verdict == label:
        return ", found"
    return f", {abs(verdict - label)} {'early' if verdict < label else 'late'}"
