"""The first-error scorers: strict and lenient, from the same output."""

import re
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.registry import MISSING, REWARDS
from misstep.scorers._metrics import first_error_metrics
from misstep.scorers._votes import Vote, read_vote, tally
from misstep.scorers._voting_record import shortened, voting_record
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict

REASONS = {
    Unread.NO_BOX: "invalid_response_format",
    Unread.NOT_AN_INDEX: "invalid_response_format",
    Unread.NO_CONCLUSION: "invalid_response_format",
    Unread.NO_SECTION: "invalid_response_format",
    Unread.NOT_STRUCTURED: "invalid_response_format",
    Unread.TRUNCATED: "truncated",
    Unread.REFUSED: "refusal",
    Unread.EMPTY: "no_response",
    Unread.NOT_RECORDED: "not_recorded",
    Unread.NO_REWARD: "scoring_failed",
}
"""Inspect's words for why a score is abnormal."""

_UNREAD = "unread"

UNREAD_TEXT = {
    Unread.NO_BOX: r"no \boxed{} in the reply",
    Unread.NOT_AN_INDEX: r"the \boxed{} does not hold one index",
    Unread.NO_CONCLUSION: "the reply does not say whether there is an error",
    Unread.NO_SECTION: "the reply tells of an error and names no section",
    Unread.NOT_STRUCTURED: "the reply is not the JSON object that was asked for",
    Unread.TRUNCATED: "the reply was cut off for its length",
    Unread.REFUSED: "the model refused",
    Unread.EMPTY: "the reply is empty",
    Unread.NOT_RECORDED: "the record ends before one is reached",
    Unread.NO_REWARD: "a step has no reward",
}


@scorer(metrics=[first_error_metrics()])
def first_error(votes: int = 1, weighted: bool = False) -> Scorer:
    """Hit or miss of the first wrong step, read strictly: the published rule to the letter.

    Args:
        votes: How many votes were asked for.
        weighted: Let votes weigh as much as the model was sure of them.
    """
    return _first_error("strict", votes, weighted)


@scorer(metrics=[first_error_metrics()])
def first_error_lenient(votes: int = 1, weighted: bool = False) -> Scorer:
    """Hit or miss of the first wrong step, read as the critic evidently meant it.

    Args:
        votes: How many votes were asked for.
        weighted: Let votes weigh as much as the model was sure of them.
    """
    return _first_error("lenient", votes, weighted)


@scorer(name="subset", metrics=[])
def subset_column() -> Scorer:
    """The sample's subset, as a column of the viewer. It scores nothing."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=str(state.metadata.get("subset") or ""))

    return score


def _first_error(reading: Reading, asked: int, weighted: bool) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        votes = _votes(state.output, reading, weighted)
        steps: list[str] = state.metadata["steps"]
        scored = score_votes(votes, int(target.text), len(steps), asked)
        # Quoted once a sample: the lenient score stands beside the strict one.
        if reading == "strict" and 0 <= int(target.text) < len(steps):
            scored.explanation = f"{scored.explanation}\n\n{_fenced(steps[int(target.text)])}"
        _keep_rewards(scored, state.output.metadata or {})
        return scored

    return score


def _keep_rewards(score: Score, metadata: dict[str, Any]) -> None:
    """Let a score say what rewards its verdict is made of, and why some are missing."""
    if REWARDS in metadata:
        score.metadata = {**(score.metadata or {}), REWARDS: metadata[REWARDS]}
    if why := metadata.get(MISSING):
        score.explanation = f"{score.explanation} Rewards are missing: {code(str(why))}."


def _votes(output: ModelOutput, reading: Reading, weighted: bool) -> list[Vote]:
    if unread := (output.metadata or {}).get(_UNREAD):
        return [Vote(Unread(unread), None)]
    return [read_vote(choice, reading, weighted) for choice in output.choices]


def unread_output(model: str, unread: Unread, text: str) -> ModelOutput:
    """What a critic leaves when it comes to no verdict, and knows why.

    Args:
        model: The critic's model.
        unread: Why.
        text: The same for people to read.
    """
    output = ModelOutput.from_content(model, text)
    output.metadata = {_UNREAD: unread.value}
    return output


def score_votes(votes: Sequence[Vote], label: Verdict, steps: int, asked: int = 1) -> Score:
    """The score of some votes against a label.

    Args:
        votes: The votes, in order; a single reply is one vote.
        label: The index of the first wrong step, or NO_ERROR.
        steps: How many steps the solution has.
        asked: How many votes were asked for; adaptive voting draws fewer.
    """
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
        # The strict vote over epochs counts what stands in the box.
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
    exists = 0 <= verdict < steps
    return (
        f"Predicted step {verdict}" if exists else f"Predicted step {verdict}, which is not there"
    )


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
    """A model's words in a line of Markdown, as they are."""
    return f"`{' '.join(text.replace('`', chr(39)).split()) or ' '}`"


def _fenced(text: str) -> str:
    """Text as it is, in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
