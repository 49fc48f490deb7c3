"""One-way roads that are gone through in order: which points are reached."""

from collections.abc import Iterator
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Sheet, Slip, Slips

ERROR_TYPES = "dropped_case misread swapped_roles overgeneralisation condition off_by_one"
LATE = "off_by_one"
COUNTS = {1: 6, 2: 9, 3: 14}
POINTS = "ABCDEFGHIJKLMN"
FRAMES = (
    "{Name}: the road goes {expr}. Marked now: {value}.",
    "We take {name}: the road goes {expr}. Marked now: {value}.",
    "At {name}, the road goes {expr}. Marked now: {value}.",
    "Next is {name}, where the road goes {expr}. Marked now: {value}.",
    "For {name} we see that the road goes {expr}. Marked now: {value}.",
)
COUNTED = (
    "{Name}: marked at the end: {expr}; number of points: {value}.",
    "For {name}: marked at the end: {expr}; number of points: {value}.",
    "We come to {name}: marked at the end: {expr}; number of points: {value}.",
    "Now {name}: marked at the end: {expr}; number of points: {value}.",
    "This gives {name}: marked at the end: {expr}; number of points: {value}.",
)


def _spaced(marked: str) -> str:
    return ", ".join(marked)


def _follow(start: str, end: str) -> Operation:
    """Return the points that are marked after a road."""

    def run(marked: str) -> str:
        return "".join(sorted({*marked, end})) if start in marked else marked

    return Operation(run, _shown(start, end))


def _shown(start: str, end: str, turned: bool = False) -> Any:  # noqa: ANN401
    def show(marked: str) -> str:
        known = (start in marked) != turned
        return f"from {start} to {end}, and {start} is {'marked' if known else 'not marked'}"

    return show


def _count(extra: int = 0) -> Operation:
    return Operation(lambda marked: len(marked) + extra, _spaced)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for every road that is gone through, and one for the number of points."""
    points = POINTS[: COUNTS[difficulty]]
    visits = size - 1
    passes = 2 if visits % 2 == 0 and visits >= 6 else 1
    sheet = Sheet()
    state: Any = random.choice(points)
    text = [f"There are the points {_spaced(points)}. At first only {state} is marked."]
    roads: list[tuple[str, str]] = []
    for number in range(passes):
        for place in range(visits // passes):
            if number == 0:
                roads.append(_road(random, points, sheet.value(state), roads))
            name = f"road {place + 1}" + (f" in pass {number + 1}" if passes > 1 else "")
            start, end = roads[place]
            slips = _slips(state, start, end, points)
            state = sheet.add(name, _follow(start, end), (state,), FRAMES, slips, text=_spaced)
    many = " The roads are gone through in this order twice, in pass 1 and then in pass 2."
    text += [f"Road {n} goes from {a} to {b}." for n, (a, b) in enumerate(roads, start=1)]
    text.append("The roads are one-way, and they are gone through in this order.")
    if passes > 1:
        text[-1] = f"The roads are one-way.{many}"
    text.append(
        "At each road, its end gets marked if its start is marked at that moment; otherwise "
        "nothing changes. How many points are marked at the end?"
    )
    wrong = [Slip("off_by_one", _count(extra), (state,)) for extra in (-1, 1)]
    sheet.add("the count", _count(), (state,), COUNTED, wrong, fits=lambda n: 0 < n <= len(points))
    return Problem(" ".join(text), sheet.nodes)


def _road(
    random: Random, points: str, marked: str, roads: list[tuple[str, str]]
) -> tuple[str, str]:
    """Return a new road. Half of the roads start at marked points."""
    while True:
        start = random.choice(marked if random.random() < 0.45 else points)
        free = [point for point in points if point not in marked and point != start]
        ends = free if free and random.random() < 0.7 else [p for p in points if p != start]
        road = (start, random.choice(ends))
        if road not in roads:
            return road


def _slips(state: Any, start: str, end: str, points: str) -> Slips:  # noqa: ANN401
    def slips(random: Random) -> Iterator[Slip]:
        show = _shown(start, end)
        yield Slip("dropped_case", Operation(lambda marked: marked, show), (state,))

        def always(marked: str) -> str:
            return "".join(sorted({*marked, end}))

        yield Slip("overgeneralisation", Operation(always, show), (state,))

        def turned(marked: str) -> str:
            return marked if start in marked else "".join(sorted({*marked, end}))

        yield Slip("condition", Operation(turned, _shown(start, end, True)), (state,))
        yield Slip("swapped_roles", _follow(end, start), (state,))
        other = random.choice([point for point in points if point not in (start, end)])
        yield Slip("misread", _follow(start, other), (state,))

    return slips
