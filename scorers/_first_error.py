"""The first-error scorers: strict and lenient, from the same output."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.plain_text import markdown_text
from misstep.samples import SolutionMetadata
from misstep.scorers._first_error_metrics import (
    REGISTERS,
    Registers,
    first_error_metrics,
    reply_metrics,
)
from misstep.scorers._votes import Vote, read_vote, shortened, tally, voting_record
from misstep.stores import VerdictRecord, critic_verdict
from misstep.verdicts import NO_ERROR, Reading, Unread, Verdict

_FORMAT = "invalid_response_format"
UNREAD = {
    Unread.NO_BOX: (_FORMAT, r"the reply has no \boxed{}"),
    Unread.NOT_AN_INDEX: (_FORMAT, r"the \boxed{} does not hold one index"),
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
        if left is not None:
            _add_rewards(scored, left)
        # The strict score alone shows the steps: both scores stand side by side in the viewer.
        if reading == "strict":
            scored.explanation = f"{scored.explanation}\n\n{step_table(scored, label, steps)}"
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


_MOST_ROWS, _FIRST_WORDS, _MOST_CHARACTERS = 40, 64, 1500
"""Steps in a table, characters of a step there, and characters of a step that is quoted."""


def step_table(score: Score, label: Verdict, steps: Sequence[str]) -> str:
    """Return the steps as a Markdown table for the viewer, then the steps in question.

    The table has the label, the verdict, the votes and the reward of each step. Of a long solution
    it has the steps around the label and the verdict.
    """
    metadata = score.metadata or {}
    votes, rewards = (metadata.get("voting") or {}).get("counts") or {}, metadata.get("rewards")
    verdict = int(score.answer) if score.answer is not None else None
    columns = [
        "step",
        "label",
        "verdict",
        *(["votes"] * bool(votes)),
        *(["reward"] * bool(rewards)),
    ]
    lines = [f"| {' | '.join([*columns, 'first words'])} |", "| --- " * (len(columns) + 1) + "|"]
    shown = _shown_steps(len(steps), label, verdict)
    for place, step in enumerate(shown):
        if place and step > shown[place - 1] + 1:
            lines.append(f"| … {'| ' * len(columns)}|")
        cells = [
            str(step),
            "**wrong**" if step == label else "right" if _is_right(step, label) else "",
        ]
        cells.append("" if step != verdict else "**here**")
        if votes:
            cells.append(f"{votes.get(str(step), 0):g}")
        if rewards:
            reward = rewards[step] if step < len(rewards) else None
            cells.append("–" if reward is None else f"{reward:.3f}")
        cells.append(markdown_text(shortened(_own_text(steps[step], step), _FIRST_WORDS)))
        lines.append(f"| {' | '.join(cells)} |")
    quoted = {"Labelled": label, "Predicted": verdict}
    if label == verdict:
        quoted = {"Labelled and predicted": label}
    return "\n".join([*lines, *quoted_steps(quoted, steps)])


def quoted_steps(quoted: Mapping[str, int | None], steps: Sequence[str]) -> Iterator[str]:
    """Yield the texts of steps as lines of Markdown, each below the name of its role."""
    for name, step in quoted.items():
        if step is not None and 0 <= step < len(steps):
            text = markdown_text(shortened(_own_text(steps[step], step), _MOST_CHARACTERS))
            yield from ("", f"**{name}: step {step}**", "", text)


def _own_text(text: str, step: int) -> str:
    """Return what an agent itself wrote or called in a step, without the evidence before it."""
    before, head, own = text.rpartition(f"[step {step}] ")
    return f"{head}{own}" if head and before[-1:] in ("", "\n") else text


def _shown_steps(count: int, label: Verdict, verdict: int | None) -> list[int]:
    """Return all steps, or those around the label and the verdict if there are many."""
    if count <= _MOST_ROWS:
        return list(range(count))
    centres = [step for step in (label, verdict) if step is not None and 0 <= step < count] or [0]
    reach = _MOST_ROWS // (2 * len(centres))
    near = {step for centre in centres for step in range(centre - reach, centre + reach)}
    return sorted(step for step in near if 0 <= step < count)


def _is_right(step: int, label: Verdict) -> bool:
    return label == NO_ERROR or step < label
