"""The recovery scorers: strict and lenient, of the same three answers."""

from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from misstep.registry import AnswerKind, find_continuation
from misstep.scorers._final_answers import is_right
from misstep.scorers._first_error import REASONS, UNREAD_TEXT, code
from misstep.scorers._recovery_metrics import recovery_metrics
from misstep.scorers._variations import VariationRecord, kept_variations
from misstep.scorers._voting_record import shortened
from misstep.verdicts import Reading

_LONGEST = 200
"""Characters of an answer that a score keeps; the reply itself is in the sample's store."""


@scorer(metrics=[recovery_metrics()])
def recovery(prompts: str = "error_recovery") -> Scorer:
    """Right or wrong in each variation: the final answer against the target as given.

    Args:
        prompts: Where the sample's task is found: a name in `registry/continuations.yaml`.
    """
    return _recovery("strict", prompts)


@scorer(metrics=[recovery_metrics()])
def recovery_lenient(prompts: str = "error_recovery") -> Scorer:
    """Right or wrong in each variation, the final answer read as it was meant.

    Args:
        prompts: Where the sample's task is found: a name in `registry/continuations.yaml`.
    """
    return _recovery("lenient", prompts)


def _recovery(reading: Reading, prompts: str) -> Scorer:
    known = find_continuation(prompts)

    async def score(state: TaskState, target: Target) -> Score:
        kind = known.task(state.metadata["task"]).answer
        return score_variations(kept_variations(state.store), target.text, kind, reading)

    return score


def score_variations(
    records: dict[Any, VariationRecord], target: str, kind: AnswerKind, reading: Reading
) -> Score:
    """The score of a sample's variations; a reply that is empty, refused or cut is wrong.

    Args:
        records: How each variation went.
        target: The right answer.
        kind: What answers look like.
        reading: Strict or lenient.
    """
    value: dict[str, str | int | float | bool | None] = {}
    metadata: dict[str, Any] = {}
    for name, record in records.items():
        unread = record.last.unread
        value[name] = int(unread is None and is_right(record.answer, target, kind, reading))
        metadata[name] = {
            "answer": shortened(record.answer, _LONGEST),
            "turn": record.turn,
            "unread": unread and unread.value,
            "reasoning_unread": [r.unread.value for r in record.reasoning if r.unread],
            "tokens": sum(reply.tokens for reply in record.replies),
        }
    unread = next((entry["unread"] for entry in metadata.values() if entry["unread"]), None)
    return Score(
        value=value,
        answer=" · ".join(f"{name} {shortened(r.answer.strip())}" for name, r in records.items()),
        explanation=_explained(value, metadata, target),
        reason=REASONS[unread] if unread else None,
        metadata=metadata,
    )


_TURNS = {
    "plain": "after the user's message",
    "continued": "continued the given text",
    "new_turn": "a new turn after the given text",
    "asked": "asked to go on",
}


def _explained(value: dict[str, Any], metadata: dict[str, Any], target: str) -> str:
    """A table of the three answers, for the viewer."""
    lines = [
        f"Target: {code(target)}",
        "",
        "| | answer | | reasoning |",
        "| --- | --- | --- | --- |",
    ]
    for name, entry in metadata.items():
        worth = "right" if value[name] else "wrong"
        if entry["unread"]:
            worth = f"wrong: {UNREAD_TEXT[entry['unread']]}"
        lines.append(f"| {name} | {_cell(entry['answer'])} | {worth} | {_TURNS[entry['turn']]} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return code(shortened(text)).replace("|", "\\|")
