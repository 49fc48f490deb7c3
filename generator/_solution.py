"""A worked solution with everything that is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from misstep.generator._draft import Draft, dependants
from misstep.generator._facts import VERSION, Outcome
from misstep.generator._graph import Slip, operands_of
from misstep.verdicts import NO_ERROR

AGAIN = (
    "Let me check that again. {step} This is what holds.",
    "A second look: {step} This is right.",
    "To be sure, once more: {step} This is what counts.",
)
"""How a step goes over an earlier one; the same words whether or not that one was right."""

ANSWERS = (
    " The answer is {answer}.",
    " So the answer is {answer}.",
    " Hence the answer is {answer}.",
)


@dataclass(frozen=True, slots=True)
class Solution:
    """A problem and its worked solution, with or without an error."""

    id: str
    family: str
    problem: str
    steps: list[str]
    label: int
    """The index of the first wrong step, or -1."""
    correct_steps: list[str]
    """The same solution without the error, step by step."""
    answer: str
    """The right final answer."""
    error_type: str | None
    outcome: Outcome | None
    """What becomes of the error."""
    final_answer_correct: bool
    dependants: int
    """How many later steps are computed from a value that the error has made wrong."""
    decoys: int
    """How many steps are unusual but right."""

    @property
    def position(self) -> float | None:
        """Where the error stands: 0 is the first step, 1 the last."""
        return None if self.label == NO_ERROR else self.label / (len(self.steps) - 1)

    def row(self) -> dict[str, Any]:
        """The solution as a row of first-error detection."""
        return {
            "id": self.id,
            "problem": self.problem,
            "steps": self.steps,
            "label": self.label,
            "subset": self.family,
            "generator": f"misstep.generator {VERSION}",
            "family": self.family,
            "error_type": self.error_type,
            "outcome": self.outcome,
            "position": self.position,
            "length": len(self.steps),
            "final_answer_correct": self.final_answer_correct,
            "dependants": self.dependants,
            "decoys": self.decoys,
            "answer": self.answer,
            "correct_steps": self.correct_steps,
        }


def solution_of(draft: Draft, random: Random, name: str, family: str, erring: bool) -> Solution:
    """Write a draft down.

    Args:
        draft: What was drawn.
        random: Decides the wordings that are left.
        name: The solution's id.
        family: The family's name.
        erring: Whether the error is shown.
    """
    ending, again = random.choice(ANSWERS), random.choice(AGAIN)
    plain = _written(draft, draft.right, {}, {}, ending, again)
    answer = draft.problem.nodes[-1].text
    shown = plain
    if erring:
        passing = {}
        if draft.outcome == "corrected":
            given = operands_of(draft.slip.operands, draft.right)
            passing = {draft.node: draft.slip.operation.run(*given)}
        slips = {draft.node: draft.slip}
        shown = _written(draft, draft.wrong, slips, passing, ending, again)
    return Solution(
        id=name,
        family=family,
        problem=draft.problem.text,
        steps=shown,
        label=draft.label if erring else NO_ERROR,
        correct_steps=plain,
        answer=answer(draft.right[-1]),
        error_type=draft.slip.error_type if erring else None,
        outcome=draft.outcome if erring else None,
        final_answer_correct=not erring or draft.wrong[-1] == draft.right[-1],
        dependants=dependants(draft) if erring else 0,
        decoys=len(draft.odd),
    )


def _written(
    draft: Draft,
    values: Sequence[Any],
    slips: Mapping[int, Slip],
    passing: Mapping[int, Any],
    ending: str,
    again: str,
) -> list[str]:
    """The steps' texts.

    Args:
        draft: What was drawn.
        values: What the nodes' values are in the end.
        slips: What goes wrong, by node.
        passing: Values that a step states and a later one corrects, by node.
        ending: The wording of the answer.
        again: The wording of a step that goes over an earlier one.
    """
    steps: list[str] = []
    nodes = draft.problem.nodes
    for place, node in enumerate(nodes):
        doing = slips.get(place, node)
        given = operands_of(doing.operands, values)
        value = passing.get(place, values[place])
        if place in draft.odd:
            text = node.say_oddly(draft.frames[place], given, value)
        else:
            text = node.say(draft.frames[place], doing.operation, given, value)
        if place == len(nodes) - 1:
            text += ending.format(answer=node.text(value))
        steps.append(text)
        if place in draft.rechecks:
            target = draft.rechecks[place]
            node = nodes[target]
            given = operands_of(node.operands, values)
            sentence = node.say(node.frames[0], node.operation, given, values[target])
            steps.append(again.format(step=sentence))
    return steps
