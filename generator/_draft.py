"""Drawing a problem together with one error that could happen in it.

Every row has a draft with an error. Another module decides whether the error is shown. So the
problem, the length, the wordings, the decoys, the re-checks and the layout do not reveal it.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, Literal, NamedTuple

from misstep.arithmetic import false_equations
from misstep.generator._graph import (
    Build,
    DeadEndError,
    Node,
    Problem,
    Ref,
    Slip,
    evaluate,
    operands_of,
    value_of,
)
from misstep.generator._long import long_problem
from misstep.samples import third_of

Outcome = Literal["plain", "cancelled", "corrected", "miscorrected"]
"""The error stays, a second error restores the answer, a re-check corrects it, or a re-check of a
right result is wrong."""

HARD = 4
"""The first difficulty with long solutions."""
RECHECKS = (0, 0, 0, 1, 1, 2)
"""How many results are checked again: drawn from these in short solutions."""
SHORTEST = 4
"""Every family can make a problem with this number of nodes."""
RECHECKED = 16
"""One in so many results is checked again in long solutions."""
MOST_FACTS = 4
"""The largest number of facts in a step of a long solution."""
FACTS = (1.2, 1.7)
"""The range of the average number of facts in a step of a long solution."""
CANCELLED = 0.2
"""The share of drafts that try a second error to restore the answer."""
CANCELLATIONS = 6
"""The largest number of places that are tried for a second error."""
COMMON = ("off_by_one", "misread")
"""The errors that almost every step allows."""
RARE_FIRST = 0.7
"""The share of draws that try other error types first."""
CALCULATED = 0.08
"""The share of long solutions whose error may be an equation that does not hold."""
ODD = 0.15
"""The share of steps that are written in an unusual way."""
NEAR = 4
"""The largest ratio between a wrong value and the right one."""
CLOSE = 20
"""The largest difference, in percent, of a second error that restores the answer."""


class Again(NamedTuple):
    """A fact that checks an earlier result again."""

    node: int


Fact = int | Again
"""A node, or a re-check of one."""


@dataclass
class Draft:
    """A problem, the layout of its solution, and an error that could happen in it."""

    problem: Problem
    layout: Sequence[Sequence[Fact]]
    """The facts of every step."""
    step_of: Mapping[Fact, int]
    """The step that states a fact."""
    frames: Sequence[str]
    right: Sequence[Any]
    node: int
    slip: Slip
    label: int
    """The index of the step with the error."""
    wrong: Sequence[Any]
    """The values at the end if the error is shown."""
    outcome: Outcome = "plain"
    odd: Collection[int] = ()
    """The nodes that are written in an unusual way."""
    forced: Mapping[int, Any] = field(default_factory=dict)


def draw(
    random: Random,
    build: Build,
    steps: int,
    difficulty: int,
    error_types: Container[str],
    position: str,
) -> Draft:
    """Make one draft with an error of one of the types, in that third of the solution."""
    hard = difficulty >= HARD
    most = MOST_FACTS if hard else 1
    facts = round(steps * random.uniform(*FACTS)) if hard else steps
    again = facts // RECHECKED if hard else min(random.choice(RECHECKS), steps - SHORTEST)
    if hard:
        problem = long_problem(random, build, facts - again, difficulty)
    else:
        problem = build(random, steps - again, difficulty)
    nodes = problem.nodes
    right = evaluate(nodes, {}, {})
    rechecks = _rechecks(random, problem, again, most)
    layout = _layout(random, len(nodes), rechecks, steps, most)
    step_of = {fact: at for at, step in enumerate(layout) for fact in step}
    frames = [random.choice(each.frames) for each in nodes]
    odd = {place for place in range(len(nodes)) if random.random() < ODD}
    unseen = hard and random.random() >= CALCULATED
    order = list(step_of)
    random.shuffle(order)
    for fact in order:
        label = step_of[fact]
        if position not in ("any", third_of(label, steps)):
            continue
        node = fact.node if isinstance(fact, Again) else fact
        found = _slip(random, problem, right, node, error_types, unseen)
        if found is None:
            continue
        slip, wrong = found
        odd = {place for place in odd if nodes[place].operation.odd is not None}
        if slip.operation.odd is None:
            odd.discard(node)
        draft = Draft(problem, layout, step_of, frames, right, node, slip, label, wrong, odd=odd)
        if isinstance(fact, Again):
            draft.outcome = "miscorrected"
        elif node in rechecks.values():
            draft.wrong, draft.outcome = draft.right, "corrected"
        elif random.random() < CANCELLED:
            _cancel(random, draft, rechecks)
        return draft
    raise DeadEndError


def _slip(
    random: Random,
    problem: Problem,
    right: Sequence[Any],
    node: int,
    error_types: Container[str],
    unseen: bool,
) -> tuple[Slip, list[Any]] | None:
    """Return a slip of a node that changes its value. Rare types come first most often."""
    by_type: dict[str, list[Slip]] = {}
    for slip in problem.nodes[node].slips(random):
        if slip.error_type in error_types:
            by_type.setdefault(slip.error_type, []).append(slip)
    kinds = list(by_type)
    random.shuffle(kinds)
    if random.random() < RARE_FIRST:
        kinds.sort(key=COMMON.__contains__)
    for kind in kinds:
        slips = by_type[kind]
        random.shuffle(slips)
        for slip in slips:
            try:
                value = value_of(problem.nodes[node], slip, right)
                if value == right[node] or not _near(value, right[node]):
                    continue
                if unseen and _calculated(problem.nodes[node], slip, right, value):
                    continue
                return slip, evaluate(problem.nodes, {node: slip}, {}, [*right[:node], value])
            except DeadEndError:
                continue
    return None


def _calculated(node: Node, slip: Slip, values: Sequence[Any], value: object) -> bool:
    """Return whether a calculator finds the error: the step's own equation does not hold."""
    given = operands_of(slip.operands, values)
    return bool(false_equations(node.say(node.frames[0], slip.operation, given, value)))


def _number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _near(wrong: Any, right: Any) -> bool:  # noqa: ANN401
    """Return whether a wrong value has a similar size as the right one."""
    if not _number(right) or not wrong or not right:
        return True
    small, large = sorted((abs(wrong), abs(right)))
    return bool(large <= NEAR * small)


def _rechecks(random: Random, problem: Problem, count: int, most: int) -> dict[int, int]:
    """Return which nodes are checked again, by the node after which that happens.

    A node is checked again before any node uses it, and never in the step that states it. So the
    check can correct the node.
    """
    if not count:
        return {}
    nodes = problem.nodes
    last = len(nodes) - 1
    used = dict.fromkeys(range(len(nodes)), last)
    for later in range(last, -1, -1):
        for operand in nodes[later].operands:
            if type(operand) is Ref:
                used[operand.node] = later
    able = [node for node in range(last) if not nodes[node].remark and node + most - 1 < used[node]]
    if len(able) < count:
        raise DeadEndError
    found: dict[int, int] = {}
    for node in random.sample(able, count):
        free = [after for after in range(node + most - 1, used[node]) if after not in found]
        if not free:
            raise DeadEndError
        found[random.choice(free)] = node
    return found


def _layout(
    random: Random, nodes: int, rechecks: Mapping[int, int], steps: int, most: int
) -> list[list[Fact]]:
    """Return the facts of every step."""
    facts: list[Fact] = []
    for node in range(nodes):
        facts.append(node)
        if node in rechecks:
            facts.append(Again(rechecks[node]))
    sizes = [1] * steps
    able = list(range(steps))
    for _ in range(len(facts) - steps):
        place = random.randrange(len(able))
        sizes[able[place]] += 1
        if sizes[able[place]] == most:
            able.pop(place)
    layout = []
    at = 0
    for size in sizes:
        layout.append(facts[at : at + size])
        at += size
    return layout


def _cancel(random: Random, draft: Draft, rechecks: Mapping[int, int]) -> None:
    """Try a second error that restores the answer: a result that its equation does not give."""
    nodes = draft.problem.nodes
    places = [
        place
        for place in range(draft.node + 1, len(nodes))
        if draft.wrong[place] != draft.right[place]
        and _number(draft.right[place])
        and abs(draft.wrong[place] - draft.right[place]) * 100 <= CLOSE * abs(draft.right[place])
        and place not in rechecks.values()
    ]
    random.shuffle(places)
    for place in places[:CANCELLATIONS]:
        forced = {place: draft.right[place]}
        try:
            wrong = evaluate(nodes, {}, forced, draft.wrong[:place])
        except DeadEndError:
            continue
        if wrong[-1] == draft.right[-1]:
            draft.wrong, draft.forced, draft.outcome = wrong, forced, "cancelled"
            return


def dependants(draft: Draft) -> int:
    """Return how many later steps use a value that is wrong because of the error."""
    if draft.outcome == "corrected":
        return 0
    touched = [
        operands_of(node.operands, draft.wrong) != operands_of(node.operands, draft.right)
        for node in draft.problem.nodes
    ]
    return sum(
        any(touched[fact.node if isinstance(fact, Again) else fact] for fact in step)
        for step in draft.layout[draft.label + 1 :]
    )


def distance(draft: Draft) -> int:
    """Return how many steps before the error the earliest step is that its node depends on."""
    operands = draft.problem.nodes[draft.node].operands
    used = [draft.step_of[item.node] for item in operands if type(item) is Ref]
    return draft.label - min(used, default=draft.label)
