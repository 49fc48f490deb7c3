"""Long problems: several problems of a family whose solutions are interleaved, with remarks.

Between two steps of one part there are steps of other parts, so that steps depend on results far
back. The last node puts the answers of the parts together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import (
    Build,
    DeadEndError,
    Node,
    Operation,
    Problem,
    Ref,
    Slip,
    Slips,
    evaluate,
    text_of,
)
from misstep.generator._numbers import TOTAL, NumberSlips, dropped_terms
from misstep.generator._remarks import remark
from misstep.generator._wording import FRAMES

PART_SIZES = {4: (7, 13), 5: (9, 18)}
"""The range of the number of nodes in a part, by difficulty."""
REMARKED = 9
"""One node in so many is a remark."""
INNER = 3
"""The difficulty of the parts."""
TRIES = 200
BROKEN = Fraction(3, 2)
"""Fits every quantity that can be broken, such as how many of two events happen."""
LISTED = (
    "{Name}: {value}.",
    "We put together {name}: {value}.",
    "Now {name}: {value}.",
    "In order, {name}: {value}.",
    "This gives {name}: {value}.",
)


def long_problem(random: Random, build: Build, size: int, difficulty: int) -> Problem:
    """Make a problem of several parts with a number of nodes in all."""
    remarks = size // REMARKED
    parts = [
        _part(random, build, count)
        for count in _sizes(random, size - remarks - 1, *PART_SIZES[difficulty])
    ]
    order = _interleaved(random, [len(part.nodes) for part in parts])
    for _ in range(remarks):
        order.insert(random.randrange(2, len(order) + 1), (-1, 0))
    places: list[list[Ref]] = [[] for _ in parts]
    """The places of the nodes of every part. The order keeps that of each part."""
    for index, (number, _) in enumerate(order):
        if number >= 0:
            places[number].append(Ref(index))
    nodes: list[Node] = []
    about: list[tuple[Ref, Node]] = []
    """The nodes with whole numbers, which remarks are about."""
    for number, own in order:
        if number < 0:
            nodes.append(remark(random, about))
            continue
        node = _moved(parts[number].nodes[own], number + 1, places[number])
        if parts[number].whole[own]:
            about.append((places[number][own], node))
        nodes.append(node)
    ends = [refs[-1] for refs in places]
    whole = all(part.whole[-1] for part in parts)
    nodes.append(_sum(ends) if whole else _list(ends, [part.nodes[-1].text for part in parts]))
    asked = (
        "Find the sum of the answers of all parts."
        if whole
        else "Give the answers of all parts in order, separated by semicolons."
    )
    texts = [f"Part {number}: {part.text}" for number, part in enumerate(parts, start=1)]
    head = f"This problem has {len(parts)} parts, which do not depend on each other. {asked}"
    return Problem("\n\n".join([head, *texts]), nodes)


class _Part:
    """A problem, and which of its values are whole numbers, also after an error."""

    def __init__(self, problem: Problem) -> None:
        self.text, self.nodes = problem.text, problem.nodes
        self.whole = [
            type(value) is int and not node.fits(BROKEN)
            for node, value in zip(self.nodes, evaluate(self.nodes, {}, {}), strict=True)
        ]


def _sizes(random: Random, total: int, low: int, high: int) -> list[int]:
    """Return sizes of parts, between the limits where that is possible, with that total."""
    sizes: list[int] = []
    while (left := total - sum(sizes)) > high:
        sizes.append(min(random.randrange(low, high + 1), left - low))
    return [*sizes, left]


def _part(random: Random, build: Build, size: int) -> _Part:
    for _ in range(TRIES):
        try:
            return _Part(build(random, size, INNER))
        except DeadEndError:
            continue
    raise DeadEndError


def _interleaved(random: Random, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the nodes of all parts in one order, which keeps the order of each part.

    The nodes of every part are spread over the whole solution.
    """
    timed = [
        (time, number, own)
        for number, size in enumerate(sizes)
        for own, time in enumerate(sorted(random.random() for _ in range(size)))
    ]
    return [(number, own) for _, number, own in sorted(timed)]


class _MovedSlips:
    """The slips of a node of a part, for the node of the whole.

    Long problems have many nodes: one small object each keeps Python's garbage collector quiet.
    """

    __slots__ = ("refs", "slips")

    def __init__(self, slips: Slips, refs: Sequence[Ref]) -> None:
        self.slips = slips
        self.refs = refs

    def __call__(self, random: Random) -> Iterator[Slip]:
        for slip in self.slips(random):
            yield Slip(slip.error_type, slip.operation, _moved_operands(slip.operands, self.refs))


def _moved_operands(operands: Iterable[Any], refs: Sequence[Ref]) -> tuple[Any, ...]:
    """Return the operands of a node of a part, as operands of the whole."""
    return tuple([refs[item.node] if type(item) is Ref else item for item in operands])


def _moved(node: Node, part: int, refs: Sequence[Ref]) -> Node:
    """Return a node of a part as a node of the whole. `refs` are the new places of the part."""
    return Node(
        node.name,
        node.operation,
        _moved_operands(node.operands, refs),
        node.frames,
        _MovedSlips(node.slips, refs),
        node.fits,
        node.text,
        part,
    )


def _sum(ends: Sequence[Ref]) -> Node:
    slips = NumberSlips(TOTAL, ends, dropped_terms(ends))
    return Node("the sum", TOTAL, tuple(ends), FRAMES, slips, lambda value: True, text_of)


def _list(ends: Sequence[Ref], texts: Sequence[Callable[[Any], str]]) -> Node:
    def listed(given: Sequence[Any]) -> str:
        return "; ".join(text(value) for text, value in zip(texts, given, strict=True))

    def swapped(random: Random) -> Iterable[Slip]:
        place = random.randrange(len(ends) - 1)
        mixed = [*ends]
        mixed[place], mixed[place + 1] = mixed[place + 1], mixed[place]
        yield Slip("swapped_roles", operation, tuple(mixed))

    operation = Operation(lambda *given: listed(given), lambda *given: "")
    return Node("the answers", operation, tuple(ends), LISTED, swapped, lambda value: True, str)
