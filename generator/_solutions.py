"""Worked solutions. Each depends on its seed, its index and the settings only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from random import Random
from typing import Any

from misstep.generator._draft import Draft, Outcome, dependants, draw
from misstep.generator._graph import DeadEndError, Slip, operands_of
from misstep.generator._settings import Settings, check_count, settings_of
from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError
from misstep.verdicts import NO_ERROR

VERSION = "v1"
"""Changes if the same seed no longer gives the same rows."""
ATTEMPTS = 2000
"""Far more draws than any setting has needed."""

AGAIN = (
    "Let me check that again. {step} This is what holds.",
    "A second look: {step} This is right.",
    "To be sure, once more: {step} This is what counts.",
)
"""Wordings of a re-check. They are the same whether or not the checked step was right."""

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
    final_answer_correct: bool
    dependants: int
    """The number of later steps that use a value that is wrong because of the error."""
    decoys: int
    """The number of unusual but right steps."""

    @property
    def position(self) -> float | None:
        """The place of the error, from 0 (first step) to 1 (last step)."""
        return None if self.label == NO_ERROR else self.label / (len(self.steps) - 1)

    def row(self) -> dict[str, Any]:
        """Return the solution as a row of first-error detection."""
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


def solutions(seed: int, n: int, **settings: Any) -> Iterator[Solution]:  # noqa: ANN401
    """Generate n worked solutions. A larger n gives the same solutions first.

    Args:
        seed: The same seed and settings give the same solutions on every machine.
        n: The number of solutions.
        settings: steps, position, error_types, families, difficulty and correct_share, as in
            `settings_of`.

    Raises:
        MisstepError: A value is not allowed.
    """
    checked = settings_of(**settings)
    count, start = check_count("n", n, 1), check_count("seed", seed, 0)
    return (solution(start, index, checked) for index in range(count))


def solution(seed: int, index: int, settings: Settings) -> Solution:
    """Return the solution of one index."""
    families = settings.families
    family = _family_order(seed, index // len(families), families)[index % len(families)]
    random = _random(seed, index, family)
    draft = _draw_draft(random, family, settings)
    # Errors are spread evenly, so that a few rows already have the right share of them.
    share, start = settings.correct_share, _random(seed, "share").random()
    has_error = floor(start + (index + 1) * share) == floor(start + index * share)
    name = f"procedural-{VERSION}-{seed}-{index:06}"
    return _write(draft, random, name, family, has_error)


def _random(*parts: object) -> Random:
    return Random("/".join(map(str, (VERSION, *parts))))  # noqa: S311 (not a secret)


@lru_cache(maxsize=64)
def _family_order(seed: int, block: int, families: tuple[str, ...]) -> list[str]:
    """Return every family once, so that a few rows already have all of them."""
    order = list(families)
    _random(seed, "families", block).shuffle(order)
    return order


def _draw_draft(random: Random, family: str, settings: Settings) -> Draft:
    steps = random.randrange(settings.shortest, settings.longest + 1)
    build = FAMILIES[family].build
    types, position = settings.error_types, settings.position
    for _ in range(ATTEMPTS):
        try:
            return draw(random, build, steps, settings.difficulty, types, position)
        except DeadEndError:
            continue
    raise MisstepError(
        f"The family {family!r} has no solution with {steps} steps and an error of type "
        f"{', '.join(types)} at position {position}. Allow more error types, other positions or "
        "other lengths."
    )


def _write(draft: Draft, random: Random, name: str, family: str, has_error: bool) -> Solution:
    ending, again = random.choice(ANSWERS), random.choice(AGAIN)
    right = _steps(draft, draft.right, {}, {}, ending, again)
    shown = right
    if has_error:
        corrected = {}
        if draft.outcome == "corrected":
            given = operands_of(draft.slip.operands, draft.right)
            corrected = {draft.node: draft.slip.operation.run(*given)}
        slips = {draft.node: draft.slip}
        shown = _steps(draft, draft.wrong, slips, corrected, ending, again)
    return Solution(
        id=name,
        family=family,
        problem=draft.problem.text,
        steps=shown,
        label=draft.label if has_error else NO_ERROR,
        correct_steps=right,
        answer=draft.problem.nodes[-1].text(draft.right[-1]),
        error_type=draft.slip.error_type if has_error else None,
        outcome=draft.outcome if has_error else None,
        final_answer_correct=not has_error or draft.wrong[-1] == draft.right[-1],
        dependants=dependants(draft) if has_error else 0,
        decoys=len(draft.odd),
    )


def _steps(
    draft: Draft,
    values: Sequence[Any],
    slips: Mapping[int, Slip],
    corrected: Mapping[int, Any],
    ending: str,
    again: str,
) -> list[str]:
    """Return the texts of the steps.

    `values` are the values at the end. `corrected` are wrong values that a later step corrects.
    """
    steps: list[str] = []
    nodes = draft.problem.nodes
    for place, node in enumerate(nodes):
        computed = slips.get(place, node)
        given = operands_of(computed.operands, values)
        value = corrected.get(place, values[place])
        if place in draft.odd:
            text = node.say_oddly(draft.frames[place], given, value)
        else:
            text = node.say(draft.frames[place], computed.operation, given, value)
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
