"""Long problems: several problems of a family whose solutions are interleaved, with remarks.

Between two steps of one part there are steps of other parts, so that steps depend on results far
back. The last node puts the answers of the parts together.

A remark is a conclusion that is right, drawn validly or not. Its slip is an invalid inference to
the same right conclusion. A valid and an invalid remark have the same words; only numbers tell them
apart, some of them far back in the solution.
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
from misstep.generator._numbers import FRAMES, TOTAL, NumberSlips, dropped_terms

LEADS = ("A remark: ", "Besides this: ", "By the way: ", "As a side note: ", "We also note this: ")

Text = Callable[..., str]
"""Writes a remark about the value of a quantity, if it is about one."""


def remark(random: Random, about: Sequence[tuple[Ref, Node]]) -> Node:
    """Return a remark, about one of the nodes if there are any, or about numbers of its own."""
    error_type = random.choice(INFERENCES)
    lead = random.choice(LEADS)
    if error_type in FREE:
        return _node(lead, error_type, (), 0, *FREE[error_type](random))
    a, b = random.randrange(3, 20), random.randrange(12, 60)
    operands: tuple[Any, ...] = (a * b,)
    name, part = f"{a} × {b}", 0
    if about:
        ref, node = random.choice(about)
        operands, name, part = (ref,), node.name, node.part
    return _node(lead, error_type, operands, part, *KINDS_ABOUT[error_type](random, name))


def _node(
    lead: str, error_type: str, operands: tuple[Any, ...], part: int, valid: Text, invalid: Text
) -> Node:
    def operation(text: Text, holds: bool) -> Operation:
        return Operation(lambda *given: holds, lambda *given: lead + text(*given))

    slip = Slip(error_type, operation(invalid, False), operands)
    return Node(
        "remark",
        operation(valid, True),
        operands,
        ("{expr}",),
        lambda random: (slip,),
        lambda value: True,
        text_of,
        part,
        remark=True,
    )


def _consequent(random: Random, name: str) -> tuple[Text, Text]:
    """Every A is a B. It is an A, so it is a B; invalid: it is a B, so it is an A."""
    small, factor = random.randrange(2, 10), random.randrange(2, 7)
    large, more = small * factor, random.randrange(1, 5)

    def text(first: int, second: int) -> Text:
        def write(value: int) -> str:
            add = -value % large + more * large
            total = value + add
            return (
                f"adding {add} to {name} gives {total}. Every multiple of {large} is a multiple of "
                f"{small}. As {total} is a multiple of {first}, it is a multiple of {second}."
            )

        return write

    return text(large, small), text(small, large)


def _zero(random: Random, name: str) -> tuple[Text, Text]:
    """Divide by a term; invalid: the term is zero."""
    factor, off = random.randrange(3, 40), random.choice((-3, -2, -1, 1, 2, 3))

    def text(off: int) -> Text:
        def write(value: int) -> str:
            number = value + off
            # Not "{name} minus {number}": a name can end in a number, as in "events 1 to 2".
            how = f"subtracting {number} from" if number >= 0 else f"adding {-number} to"
            return (
                f"let S = {factor}, and let T be the result of {how} {name}. Then S × T = {factor} "
                f"× T, and dividing both sides by T gives S = {factor} back."
            )

        return write

    return text(off), text(0)


def _quantifiers(random: Random) -> tuple[Text, Text]:
    """One prime divides all; invalid: each is divided by some prime."""
    common = random.choice((2, 3, 5))
    prime, other = random.sample([p for p in (2, 3, 5, 7) if p != common], 2)
    factors = random.sample(range(2, 12), 3)
    odd_one = random.randrange(3)

    def text(same: bool) -> Text:
        primes = [other if place == odd_one and not same else prime for place in range(3)]
        # All three numbers have a common prime in either case; it is not the one that is named.
        numbers = [common * prime * other * factor for factor in factors]
        return lambda: (
            f"the primes {primes[0]}, {primes[1]} and {primes[2]} divide {numbers[0]}, "
            f"{numbers[1]} and {numbers[2]}, in this order. So one prime divides all three."
        )

    return text(True), text(False)


def _cases(random: Random) -> tuple[Text, Text]:
    """All remainders are looked at; invalid: one is left out, and another named twice."""
    count = random.randrange(4, 8)
    remainders = random.sample(range(count), count)
    missing = random.randrange(count)
    twice = random.choice([place for place in range(count) if place != missing])

    def text(cases: Sequence[int]) -> Text:
        listed = f"{', '.join(map(str, cases[:-1]))} or {cases[-1]}"
        return lambda: (
            f"a whole number leaves the remainder {listed} when it is divided by {count}, and in "
            f"each of these cases one of the {count} consecutive numbers that begin with it is a "
            f"multiple of {count}. These are all cases, so {count} consecutive whole numbers "
            f"always include a multiple of {count}."
        )

    shorter = [*remainders]
    shorter[missing] = remainders[twice]
    return text(remainders), text(shorter)


def _base(random: Random) -> tuple[Text, Text]:
    """Induction from a base; invalid: the claim begins before the base."""
    number, base = random.randrange(4, 12), random.randrange(2, 4)
    later = random.randrange(2)
    shown = number**base - 1

    def text(start: int) -> Text:
        return lambda: (
            f"{number}^n - 1 is a multiple of {number - 1} for n = {base}, as it is {shown}. If "
            f"this holds for n = k with k ≥ {base}, it holds for n = k + 1, since {number}^(k + 1) "
            f"- 1 = {number} × ({number}^k - 1) + {number - 1}. By induction it holds for every "
            f"whole n ≥ {start}."
        )

    return text(base + later), text(base - 1)


def _bound(random: Random) -> tuple[Text, Text]:
    """A bound from which an inequality holds; invalid: it is too small by one."""
    factor, strict = random.randrange(3, 30), random.random() < 0.5
    least = factor + strict
    more = random.randrange(2)
    number = least + random.randrange(3, 20)
    sign = ">" if strict else "≥"

    def text(bound: int) -> Text:
        return lambda: (
            f"n^2 {sign} {factor}n holds for every whole n ≥ {bound}. With n = {number} we get "
            f"{number}^2 {sign} {factor} × {number}."
        )

    return text(least + more), text(least - 1)


FREE: dict[str, Callable[[Random], tuple[Text, Text]]] = {
    "swapped_quantifiers": _quantifiers,
    "unhandled_case": _cases,
    "missing_base": _base,
    "wrong_bound": _bound,
}
"""Remarks about numbers of their own, by the type of their error."""

KINDS_ABOUT: dict[str, Callable[[Random, str], tuple[Text, Text]]] = {
    "affirmed_consequent": _consequent,
    "zero_division": _zero,
}
"""Remarks about a quantity of the solution, by the type of their error."""

INFERENCES = (*KINDS_ABOUT, *FREE)
"""The types of invalid inference."""


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
