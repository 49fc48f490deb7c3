"""Drawing a problem together with one error that could happen in it.

Every row has a draft with an error. Another module decides whether the error is shown. So the
problem, the length, the wordings, the decoys and the re-checks do not reveal it.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any, Literal

from misstep.generator._graph import Build, DeadEndError, Problem, Ref, Slip, evaluate, operands_of
from misstep.samples import third_of

Outcome = Literal["plain", "cancelled", "corrected"]
"""The error stays, a second error restores the answer, or a re-check corrects it."""

RECHECKED = 0.45
"""The share of drafts with a step that checks an earlier one again."""
CORRECTED = 0.3
"""The share of these drafts in which the checked step has the error."""
CANCELLED = 0.2
"""The share of the other drafts that try a second error to restore the answer."""
COMMON = ("off_by_one", "misread")
"""The errors that almost every step allows."""
RARE_FIRST = 0.7
"""The share of draws that try other error types first."""
ODD = 0.15
"""The share of steps that are written in an unusual way."""
MOST_ODD = 2
NEAR = 4
"""The largest ratio between a wrong value and the right one."""
CLOSE = 20
"""The largest difference, in percent, of a second error that restores the answer."""


@dataclass
class Draft:
    """A problem, the layout of its solution, and an error that could happen in it."""

    problem: Problem
    frames: Sequence[str]
    rechecks: Mapping[int, int]
    """The nodes that are checked again, by the node after which that happens."""
    right: Sequence[Any]
    node: int
    slip: Slip
    wrong: Sequence[Any]
    """The values at the end if the error is shown."""
    outcome: Outcome = "plain"
    odd: Sequence[int] = ()
    """The nodes that are written in an unusual way."""
    forced: Mapping[int, Any] = field(default_factory=dict)

    @property
    def label(self) -> int:
        """The index of the step with the error."""
        return self.node + sum(after < self.node for after in self.rechecks)


def draw(
    random: Random,
    build: Build,
    steps: int,
    difficulty: int,
    error_types: Container[str],
    position: str,
) -> Draft:
    """Make one draft with an error of one of the types, in that third of the solution."""
    rechecking = random.random() < RECHECKED
    correcting = rechecking and random.random() < CORRECTED
    cancelling = random.random() < CANCELLED
    problem = build(random, steps - rechecking, difficulty)
    nodes = problem.nodes
    right = evaluate(nodes, {}, {})
    order = list(range(len(nodes) - correcting))
    random.shuffle(order)
    for node in order:
        rechecks = _rechecks(random, problem, node, correcting) if rechecking else {}
        label = node + sum(after < node for after in rechecks)
        if position not in ("any", third_of(label, steps)):
            continue
        found = _slip(random, problem, right, node, error_types)
        if found is not None:
            slip, wrong = found
            frames = [random.choice(each.frames) for each in nodes]
            draft = Draft(problem, frames, rechecks, right, node, slip, wrong)
            if correcting:
                draft.wrong, draft.outcome = draft.right, "corrected"
            elif cancelling:
                _cancel(random, draft)
            draft.odd = _odd(random, draft)
            return draft
    raise DeadEndError


def _slip(
    random: Random, problem: Problem, right: Sequence[Any], node: int, error_types: Container[str]
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
                wrong = evaluate(problem.nodes, {node: slip}, {})
            except DeadEndError:
                continue
            if wrong[node] != right[node] and _near(wrong[node], right[node]):
                return slip, wrong
    return None


def _number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _near(wrong: Any, right: Any) -> bool:  # noqa: ANN401
    """Return whether a wrong value has a similar size as the right one."""
    if not _number(right) or not wrong or not right:
        return True
    small, large = sorted((abs(wrong), abs(right)))
    return bool(large <= NEAR * small)


def _rechecks(random: Random, problem: Problem, node: int, correcting: bool) -> dict[int, int]:
    """Return which node is checked again, and after which node: before any node that uses it."""
    last = len(problem.nodes) - 1
    others = [other for other in range(last) if other != node]
    target = node if correcting else random.choice(others)
    before = next(
        (
            later
            for later in range(target + 1, last + 1)
            if Ref(target) in problem.nodes[later].operands
        ),
        last,
    )
    return {random.randrange(target, before): target}


def _cancel(random: Random, draft: Draft) -> None:
    """Try a second error that restores the answer: a result that its equation does not give."""
    nodes = draft.problem.nodes
    places = [
        place
        for place in range(draft.node + 1, len(nodes))
        if draft.wrong[place] != draft.right[place]
        and _number(draft.right[place])
        and abs(draft.wrong[place] - draft.right[place]) * 100 <= CLOSE * abs(draft.right[place])
        and place not in draft.rechecks.values()
    ]
    random.shuffle(places)
    for place in places:
        forced = {place: draft.right[place]}
        try:
            wrong = evaluate(nodes, {draft.node: draft.slip}, forced)
        except DeadEndError:
            continue
        if wrong[-1] == draft.right[-1]:
            draft.wrong, draft.forced, draft.outcome = wrong, forced, "cancelled"
            return


def _odd(random: Random, draft: Draft) -> tuple[int, ...]:
    """Return the nodes that are written in an unusual way. Wrong nodes never are."""
    able = [
        place
        for place, node in enumerate(draft.problem.nodes)
        if node.operation.odd is not None and place != draft.node and place not in draft.forced
    ]
    chosen = [place for place in able if random.random() < ODD]
    return tuple(chosen[:MOST_ODD])


def dependants(draft: Draft) -> int:
    """Return how many later steps use a value that is wrong because of the error."""
    if draft.outcome == "corrected":
        return 0
    touched = [
        operands_of(node.operands, draft.wrong) != operands_of(node.operands, draft.right)
        for node in draft.problem.nodes
    ]
    again = sum(touched[node] for after, node in draft.rechecks.items() if after >= draft.node)
    return sum(touched[draft.node + 1 :]) + again
