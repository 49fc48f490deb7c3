"""Worked solutions, and their settings. Each depends on its seed, its index and the settings only.

A row draws its wordings before it is decided whether its error is shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from random import Random
from typing import Any

from misstep.generator._draft import HARD, Again, Draft, Fact, Outcome, dependants, distance, draw
from misstep.generator._graph import DeadEndError, Slip, operands_of
from misstep.generator._long import INFERENCES
from misstep.generator.families import FAMILIES
from misstep.registry import MisstepError, UnknownNameError
from misstep.verdicts import NO_ERROR

SHORT, LONG = (4, 24), (40, 200)
"""The smallest and the largest number of steps, of short solutions and of long ones."""
DEFAULT_STEPS = {1: (6, 12), 2: (6, 12), 3: (6, 12), 4: (40, 80), 5: (80, 160)}
"""The range of the number of steps by difficulty, if none is given."""
POSITIONS = ("any", "early", "middle", "late")
"""The third of a solution in which errors stand."""
ERROR_TYPES = (
    "wrong_operation",
    "sign",
    "dropped_case",
    "misread",
    "unit",
    "off_by_one",
    "swapped_roles",
    "overgeneralisation",
    "condition",
    *INFERENCES,
)


@dataclass(frozen=True)
class Settings:
    """Checked settings of the generator."""

    steps: Mapping[int, tuple[int, int]]
    """The smallest and the largest number of steps, by difficulty."""
    position: str
    error_types: tuple[str, ...]
    families: tuple[str, ...]
    correct_share: float

    @property
    def difficulties(self) -> list[int]:
        """The difficulties, of which every row draws one."""
        return list(self.steps)


def settings_of(
    steps: int | str | None = None,
    position: str = "any",
    error_types: str | Sequence[str] | None = None,
    families: str | Sequence[str] | None = None,
    difficulty: int | str | Sequence[int] = 2,
    correct_share: float = 0.5,
) -> Settings:
    """Check the settings of the generator."""
    difficulties = _difficulties(difficulty)
    ranges = {each: _range(steps, each) for each in difficulties}
    if position not in POSITIONS:
        raise UnknownNameError("position", position, POSITIONS)
    wanted = _names("error type", error_types, ERROR_TYPES)
    chosen = _names("family", families, FAMILIES)
    short = min(difficulties) < HARD
    able = tuple(name for name in chosen if _allowed(name, wanted, position, short))
    if families is not None and len(able) < len(chosen):
        unable = next(name for name in chosen if name not in able)
        allowed = ", ".join(_allowed(unable, ERROR_TYPES, position, short))
        raise MisstepError(
            f"error_types={','.join(wanted)}, position={position}: the family {unable!r} has no "
            f"such errors. Allowed there: {allowed}. Leave out the family or name one of its error "
            "types."
        )
    if not able:
        raise MisstepError(
            f"error_types={','.join(wanted)}: no family has such errors at difficulty "
            f"{min(difficulties)}. Invalid inferences ({', '.join(INFERENCES)}) are in long "
            "solutions: difficulty=4 or 5."
        )
    if not isinstance(correct_share, int | float) or not 0 <= correct_share <= 1:
        raise MisstepError(
            f"correct_share={correct_share!r}: must be a share from 0 (every solution has an "
            "error) to 1 (none has), such as 0.5."
        )
    return Settings(ranges, position, wanted, able, correct_share)


def check_count(name: str, value: object, least: int) -> int:
    """Return a value if it is a whole number that is large enough, or raise MisstepError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise MisstepError(f"{name}={value!r}: must be a whole number from {least}.")
    return value


def _allowed(family: str, error_types: Iterable[str], position: str, short: bool) -> list[str]:
    return [
        name
        for name in error_types
        if FAMILIES[family].allows(name, position) or (name in INFERENCES and not short)
    ]


def _difficulties(given: int | str | Sequence[int]) -> list[int]:
    parts = given.split(",") if isinstance(given, str) else given
    wanted = [str(part).strip() for part in ([parts] if isinstance(parts, int) else parts)]
    if not wanted or any(part not in map(str, DEFAULT_STEPS) for part in wanted):
        raise MisstepError(
            f"difficulty={given!r}: allowed are 1, 2, 3 (short solutions), 4, 5 (long ones), or "
            "several with commas, such as 4,5."
        )
    return sorted({int(part) for part in wanted})


def _range(steps: int | str | None, difficulty: int) -> tuple[int, int]:
    if steps is None:
        return DEFAULT_STEPS[difficulty]
    least, most = SHORT if difficulty < HARD else LONG
    found = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", str(steps))
    if found:
        low = int(found[1])
        high = int(found[2] or low)
        if least <= low <= high <= most:
            return low, high
    raise MisstepError(
        f"steps={steps!r}: must be a number from {least} to {most} at difficulty {difficulty}, or "
        f"a range such as {least + 2}-{least * 3}."
    )


def _names(kind: str, given: str | Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Return names from a list or a comma-separated text, in the order of the known names."""
    allowed = list(known)
    if given is None:
        return tuple(allowed)
    parts = given.split(",") if isinstance(given, str) else given
    names = [str(name).strip() for name in parts]
    for name in names or [""]:
        if name not in allowed:
            raise UnknownNameError(kind, name, allowed)
    return tuple(name for name in allowed if name in names)


AGAIN = (
    "Let me check an earlier result again. {step} This is what holds.",
    "A second look at an earlier result: {step} This is right.",
    "To be sure, once more: {step} This is what counts.",
    "We go over an earlier result again. {step} This is what stands.",
    "One result is worth a second check. {step} This is what to use.",
)
"""Wordings of a re-check. They are the same whether or not the checked step was right."""

ANSWERS = (
    " The answer is {answer}.",
    " So the answer is {answer}.",
    " Hence the answer is {answer}.",
    " This means that the answer is {answer}.",
    " Therefore the answer is {answer}.",
)

PARTS = (
    "Part {part}: ",
    "(Part {part}) ",
    "In part {part}: ",
    "[Part {part}] ",
    "As to part {part}: ",
)
"""Wordings that say which part of a long problem a sentence belongs to."""

STYLES = ("prose", "bullets", "latex", "comments")
"""How the steps of a long solution are set."""

_EQUATION = re.compile(
    r"(?<![\w.])(?<!Part )(?:max\(|min\(|[-(\d])(?:max|min|mod|[\d\s+\-×÷()/.,*%])* = "
    r"-?\d+(?:/\d+|\.\d+)?(?![\w/])"
)
_FRACTION = re.compile(r"(\d+)/(\d+)")
_COMMANDS = {"×": r"\times", "÷": r"\div", "%": r"\%", "max": r"\max", "min": r"\min"}
_COMMANDS |= {"mod": r"\bmod"}
_SIGN = re.compile("|".join(_COMMANDS))


def styled(style: str, facts: Sequence[str]) -> str:
    """Return the facts of a step in a style, one on each line."""
    if style == "prose":
        return "\n".join(facts)
    if style == "latex":
        # A fact with a power may be a formula of n, which is not an equation of numbers.
        return "\n".join(
            r"\item " + (fact if "^" in fact else _EQUATION.sub(_formula, fact)) for fact in facts
        )
    mark = "• " if style == "bullets" else "# "
    return "\n".join(mark + fact.replace("\n", f"\n{mark}") for fact in facts)


def _formula(found: re.Match[str]) -> str:
    formula = _FRACTION.sub(r"\\frac{\1}{\2}", found[0])
    return f"${_SIGN.sub(lambda sign: _COMMANDS[sign[0]], formula)}$"


VERSION = "v6"
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
