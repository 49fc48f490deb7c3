"""Is the final answer right? Compared mathematically; all samples stay in the denominator."""

from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from pydantic import BaseModel, ConfigDict, Field

from misstep.scorers._answer_equality import Comparison, Outcome, compare_answers
from misstep.scorers._answer_metrics import answer_metrics

FOUND = "found"
"""Where an output's metadata has what a method found."""

ORACLE = "oracle"
"""Whether any of several solutions is right: what the best choice could have reached."""


class Solved(BaseModel):
    """What a method leaves for the scorer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer: str | None
    steps: list[str]
    unfinished: str | None = None
    """Why it did not come to an end, where it did not."""
    alternatives: dict[str, str | None] = Field(default_factory=dict)
    """What other ways to choose among the same solutions would have answered."""
    answers: list[str | None] = Field(default_factory=list)
    """Of all solutions, where there are several."""
    budget: dict[str, Any] = Field(default_factory=dict)
    """Calls, tokens and seconds."""


@scorer(metrics=[answer_metrics()])
def final_answer() -> Scorer:
    """Right if the final answer is mathematically equal to the known one; no answer is wrong."""

    async def score(state: TaskState, target: Target) -> Score:
        found = Solved.model_validate((state.output.metadata or {})[FOUND])
        compared: dict[str, Comparison] = {}

        async def compare(answer: str | None) -> Comparison | None:
            if answer is None:
                return None
            if answer not in compared:
                compared[answer] = await compare_answers(answer, target.text)
            return compared[answer]

        own = await compare(found.answer)
        hits = {name: _hit(await compare(answer)) for name, answer in found.alternatives.items()}
        if found.answers:
            right = [_hit(await compare(answer)) for answer in found.answers]
            hits[ORACLE] = any(right)
        metadata: dict[str, Any] = {"finished": found.unfinished is None, "budget": found.budget}
        if hits:
            metadata["hits"] = hits
        if own is not None and own.outcome is Outcome.UNDECIDED:
            metadata["undecided"] = True
        return Score(
            value=CORRECT if _hit(own) else INCORRECT,
            answer=found.answer,
            explanation=_explanation(found, own),
            reason=None if found.answer is not None else "no_response",
            metadata=metadata,
        )

    return score


def _hit(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.same


def _explanation(found: Solved, comparison: Comparison | None) -> str:
    if comparison is None:
        said = "No answer: there is no \\boxed{} in the last step."
    else:
        verdict = {Outcome.SAME: "Right", Outcome.DIFFERENT: "Wrong"}
        said = f"{verdict.get(comparison.outcome, 'Undecided, so not right')}: {comparison.reason}."
    return said if found.unfinished is None else f"{said} Unfinished: {found.unfinished}."
