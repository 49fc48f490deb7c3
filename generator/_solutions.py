"""Worked solutions. Each depends on its seed, its index and the settings only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from random import Random
from typing import Any

from misstep.generator._draft import HARD, Again, Draft, Fact, Outcome, dependants, distance, draw
from misstep.generator._graph import DeadEndError, Slip, operands_of
from misstep.generator._settings import Settings, check_count, settings_of
from misstep.generator._wording import AGAIN, ANSWERS, PARTS, STYLES, styled
from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError
from misstep.verdicts import NO_ERROR

VERSION = "v5"
"""Changes if the same seed no longer gives the same rows."""
ATTEMPTS = 2000
"""Far more draws than any setting has needed."""


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
    distance: int
    """How many steps before the wrong one the earliest step is that it depends on."""
    decoys: int
    """The number of facts that are right but written in an unusual way."""
    difficulty: int
    style: str

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
            "distance": self.distance,
            "decoys": self.decoys,
            "difficulty": self.difficulty,
            "style": self.style,
            "answer": self.answer,
            "correct_steps": self.correct_steps,
        }


def solutions(seed: int, n: int, **settings: Any) -> Iterator[Solution]:  # noqa: ANN401
    """Generate n worked solutions. A larger n gives the same solutions first.

    Args:
        seed: The same seed and settings give the same solutions on every machine.
        n: The number of solutions.
        settings: steps, position, error_types, families, difficulty and correct_share, as in
            the task `procedural`.

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
    difficulty = random.choice(settings.difficulties)
    draft = _draw_draft(random, family, difficulty, settings)
    # Errors are spread evenly, so that a few rows already have the right share of them.
    share, start = settings.correct_share, _random(seed, "share").random()
    has_error = floor(start + (index + 1) * share) == floor(start + index * share)
    name = f"procedural-{VERSION}-{seed}-{index:06}"
    return _write(draft, random, name, family, difficulty, has_error)


def _random(*parts: object) -> Random:
    return Random("/".join(map(str, (VERSION, *parts))))  # noqa: S311 (not a secret)


@lru_cache(maxsize=64)
def _family_order(seed: int, block: int, families: tuple[str, ...]) -> list[str]:
    """Return every family once, so that a few rows already have all of them."""
    order = list(families)
    _random(seed, "families", block).shuffle(order)
    return order


def _draw_draft(random: Random, family: str, difficulty: int, settings: Settings) -> Draft:
    shortest, longest = settings.steps[difficulty]
    steps = random.randrange(shortest, longest + 1)
    build = FAMILIES[family].build
    types, position = settings.error_types, settings.position
    for _ in range(ATTEMPTS):
        try:
            return draw(random, build, steps, difficulty, types, position)
        except DeadEndError:
            continue
    raise MisstepError(
        f"The family {family!r} has no solution with {steps} steps and an error of type "
        f"{', '.join(types)} at position {position}. Allow more error types, other positions or "
        "other lengths."
    )


@dataclass(frozen=True, slots=True)
class _Wording:
    """The wordings of a row that its nodes do not decide."""

    ending: str
    again: str
    part: str
    style: str


def _write(
    draft: Draft, random: Random, name: str, family: str, difficulty: int, has_error: bool
) -> Solution:
    style = random.choice(STYLES) if difficulty >= HARD else STYLES[0]
    wording = _Wording(random.choice(ANSWERS), random.choice(AGAIN), random.choice(PARTS), style)
    right = _steps(draft, draft.right, {}, {}, wording)
    shown = right
    if has_error:
        corrected = {}
        if draft.outcome == "corrected":
            given = operands_of(draft.slip.operands, draft.right)
            corrected = {draft.node: draft.slip.operation.run(*given)}
        slips = {draft.node: draft.slip}
        before = right[: draft.label]
        shown = before + _steps(draft, draft.wrong, slips, corrected, wording, draft.label)
    last = draft.problem.nodes[-1]
    return Solution(
        id=name,
        family=family,
        problem=draft.problem.text,
        steps=shown,
        label=draft.label if has_error else NO_ERROR,
        correct_steps=right,
        answer=last.text(draft.right[-1]),
        error_type=draft.slip.error_type if has_error else None,
        outcome=draft.outcome if has_error else None,
        final_answer_correct=not has_error or draft.wrong[-1] == draft.right[-1],
        dependants=dependants(draft) if has_error else 0,
        distance=distance(draft) if has_error else 0,
        decoys=len(draft.odd),
        difficulty=difficulty,
        style=style,
    )


def _steps(
    draft: Draft,
    values: Sequence[Any],
    slips: Mapping[int, Slip],
    corrected: Mapping[int, Any],
    wording: _Wording,
    start: int = 0,
) -> list[str]:
    """Return the texts of the steps from a start on.

    `values` are the values at the end. `corrected` are wrong values that a later step corrects.
    """
    nodes = draft.problem.nodes
    last = len(nodes) - 1

    def text(fact: Fact) -> str:
        place = fact.node if isinstance(fact, Again) else fact
        node = nodes[place]
        label = wording.part.format(part=node.part) if node.part else ""
        if isinstance(fact, Again):
            wrong = draft.outcome == "miscorrected" and place in slips
            computed = slips[place] if wrong else node
            given = operands_of(computed.operands, values)
            sentence = node.say(node.frames[0], computed.operation, given, values[place])
            return label + wording.again.format(step=sentence)
        computed = slips.get(place, node)
        given = operands_of(computed.operands, values)
        value = corrected.get(place, values[place])
        say = node.say_oddly if place in draft.odd else node.say
        sentence = say(draft.frames[place], computed.operation, given, value)
        ending = wording.ending.format(answer=node.text(value)) if place == last else ""
        return label + sentence + ending

    return [styled(wording.style, [text(fact) for fact in step]) for step in draft.layout[start:]]
