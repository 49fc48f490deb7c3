"""The first-error scorers: strict and lenient, from the same output."""

import re
from collections.abc import Sequence
from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.samples import SolutionMetadata, VerdictRecord, critic_verdict
from misstep.scorers._first_error_metrics import (
    REGISTERS,
    Registers,
    first_error_metrics,
    reply_metrics,
)
from misstep.scorers._votes import Vote, read_vote, shortened, tally, voting_record
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict

_FORMAT = "invalid_response_format"
UNREAD = {
    Unread.NO_BOX: (_FORMAT, r"the reply has no \boxed{}"),
    Unread.NOT_AN_INDEX: (_FORMAT, r"the \boxed{} does not hold one index"),
    Unread.NO_SIGN: ("invalid_response_format", "the reply begins with neither + nor -"),
    Unread.NO_SIGN: (_FORMAT, "the reply begins with neither + nor -"),
    Unread.NO_CONCLUSION: (_FORMAT, "the reply does not say whether there is an error"),
    Unread.NO_SECTION: (_FORMAT, "the reply reports an error but names no section"),
    Unread.NOT_STRUCTURED: (_FORMAT, "the reply is not the requested JSON object"),
    Unread.WRONG_LENGTH: (_FORMAT, "the reply has another number of labels than steps"),
    Unread.TRUNCATED: ("truncated", "the reply reached the length limit"),
    Unread.REFUSED: ("refusal", "the model refused"),
    Unread.EMPTY: ("no_response", "the reply is empty"),
    Unread.NOT_RECORDED: ("not_recorded", "the recorded scores end before a verdict"),
    Unread.NO_REWARD: ("scoring_failed", "a step has no reward"),
    Unread.NOT_LABELLED: (_FORMAT, "a step before the first wrong one has no label"),
    Unread.TOO_LONG: ("truncated", "a step is longer than the model's context"),
}
REASONS = {unread: reason for unread, (reason, _) in UNREAD.items()}
"""Inspect's words for why a score is abnormal."""
UNREAD_TEXT = {unread: text for unread, (_, text) in UNREAD.items()}


@scorer(metrics=[first_error_metrics(), reply_metrics()])
def first_error(votes: int = 1, weighted: bool = False, registers: Registers = "all") -> Scorer:
    """Score the first wrong step, read strictly: the published rule to the letter.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
        registers: The metrics in a run's results: all, main (F1 and its parts), or none, for evals
            with other scorers. Reports compute the others from the samples.
    """
    return _first_error("strict", votes, weighted, registers)


@scorer(metrics=[])
def first_error_lenient(votes: int = 1, weighted: bool = False) -> Scorer:
    """Score the first wrong step, read leniently: as the critic evidently meant it.

    It registers no metrics. `misstep.scorers.first_error_table` computes them from the scores.

    Args:
        votes: The number of votes that were asked for.
        weighted: Weight votes by the model's confidence in its tokens.
    """
    return _first_error("lenient", votes, weighted)


@scorer(name="subset", metrics=[])
def subset_column() -> Scorer:
    """Show the sample's subset as a column of the viewer. It scores nothing."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=str(state.metadata.get("subset") or ""))

    return score


def _first_error(
    reading: Reading, asked: int, weighted: bool, registers: Registers = "all"
) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        label, steps = int(target.text), state.metadata_as(SolutionMetadata).steps
        left = critic_verdict(state.store, state.output)
        votes = votes_of(state, left, reading, weighted)
        scored = score_votes(votes, label, len(steps), asked)
        # The strict score alone quotes the step: both scores stand side by side in the viewer.
        if reading == "strict" and 0 <= label < len(steps):
            scored.explanation = f"{scored.explanation}\n\n{_fenced(steps[label])}"
        if left is not None:
            _add_rewards(scored, left)
        if registers != "all":
            scored.metadata = {**(scored.metadata or {}), REGISTERS: registers}
        return scored

    return score


def votes_of(
    state: TaskState, left: VerdictRecord | None, reading: Reading, weighted: bool = False
) -> list[Vote]:
    """Return the verdict that the critic left as a value, else read the text of each choice."""
    if left is not None and left.unread is not None:
        return [Vote(Unread(left.unread), None)]
    if left is not None and left.verdict is not None:
        return [Vote(left.verdict, str(left.verdict))]
    return [read_vote(choice, reading, weighted) for choice in state.output.choices]


def _add_rewards(score: Score, left: VerdictRecord) -> None:
    """Add the rewards that a verdict is based on to its score, and why some are missing."""
    if left.rewards is not None:
        score.metadata = {**(score.metadata or {}), "rewards": left.rewards}
    if left.missing:
        score.explanation = f"{score.explanation} Rewards are missing: {code(left.missing)}."


def score_votes(votes: Sequence[Vote], label: Verdict, steps: int, asked: int = 1) -> Score:
    """Score votes against a label. Adaptive voting draws fewer votes than were asked for."""
    result = tally(votes)
    verdict = result.verdict
    metadata: dict[str, Any] = {}
    if isinstance(verdict, Unread):
        metadata["unread"] = verdict.value
    elif not NO_ERROR <= verdict < steps:
        metadata["out_of_range"] = True
    explanation = f"{_predicted(verdict, steps)}; {_labelled(verdict, label, steps)}."
    if asked > 1:
        metadata["voting"] = record = voting_record(votes, result, label, asked)
        explanation += f" Votes: {' '.join(code(ballot) for ballot in record['votes'])}."
    elif votes[0].ballot not in (None, str(verdict)):
        # A strict vote over epochs counts the text of the box.
        metadata["ballot"] = shortened(votes[0].ballot)
    return Score(
        value=CORRECT if verdict == label else INCORRECT,
        answer=None if isinstance(verdict, Unread) else str(verdict),
        explanation=explanation,
        reason=REASONS[verdict] if isinstance(verdict, Unread) else None,
        metadata=metadata,
    )


def _predicted(verdict: Verdict | Unread, steps: int) -> str:
    if isinstance(verdict, Unread):
        return f"No verdict: {UNREAD_TEXT[verdict]}"
    if verdict == NO_ERROR:
        return "Predicted no error"
    beyond = "" if 0 <= verdict < steps else ", which does not exist"
    return f"Predicted step {verdict}{beyond}"


def _labelled(verdict: Verdict | Unread, label: Verdict, steps: int) -> str:
    if label == NO_ERROR:
        return "there is no error"
    wrong = f"the first wrong step is {label} (of 0 to {steps - 1})"
    if isinstance(verdict, Unread) or verdict < 0:
        return wrong
    if verdict == label:
        return f"that is the first wrong step (of 0 to {steps - 1})"
    return f"{wrong}: {abs(verdict - label)} {'early' if verdict < label else 'late'}"


def code(text: str) -> str:
    """Return text as code in one line of Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split()) or ' '}`"


def _fenced(text: str) -> str:
    """Return text in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
