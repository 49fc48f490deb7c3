"""Insertion sort without repeats, one number at a time."""

from collections.abc import Iterator
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Sheet, Slip, Slips
from misstep.generator._numbers import misread

ERROR_TYPES = "dropped_case misread off_by_one condition swapped_roles"
NUMBERS = {1: (10, 60), 2: (10, 100), 3: (100, 1000)}
REPEATED = 0.2
"""The share of numbers that are already in the list."""
FRAMES = (
    "{Name}: {expr}, which gives {value}.",
    "In {name}, {expr}, so the list is {value}.",
    "We come to {name}: {expr}, and the list is now {value}.",
    "At {name}, {expr}: {value}.",
    "Next is {name}: {expr}, and we have {value}.",
)
PICKED = (
    "{Name}: {expr} is {value}.",
    "We read off {name}: {expr} is {value}.",
    "For {name}, {expr} is {value}.",
    "This gives {name}: {expr} is {value}.",
    "Now {name}: {expr} is {value}.",
)

Numbers = tuple[int, ...]


def _shown(numbers: Numbers, number: int) -> str:
    return f"we take {number}"


def _oddly(numbers: Numbers, number: int) -> str:
    larger = sum(other > number for other in numbers)
    return f"we take {number} (larger numbers in the list so far: {larger})"


def _insert(shift: int = 0, repeats: bool = False) -> Operation:
    """Return the insertion of a number before the first larger one, or some places beside it."""

    def run(numbers: Numbers, number: int) -> Numbers:
        if number in numbers and not repeats:
            return numbers
        larger = (place for place, other in enumerate(numbers) if other > number)
        place = next(larger, len(numbers)) + shift
        if not 0 <= place <= len(numbers):
            raise ValueError
        return (*numbers[:place], number, *numbers[place:])

    return Operation(run, _shown, _oddly)


INSERT = _insert()
FORGET = Operation(lambda numbers, number: numbers, _shown)


def _pick(shift: int = 0) -> Operation:
    return Operation(
        lambda numbers, place: numbers[place - 1 + shift], lambda numbers, place: f"number {place}"
    )


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for every number after the first, and one for the answer."""
    low, high = NUMBERS[difficulty]
    numbers = random.sample(range(low, high), size)
    for place in range(2, size):
        if random.random() < REPEATED:
            numbers[place] = random.choice(numbers[:place])
    sheet = Sheet()
    state: Any = (numbers[0],)
    for turn, number in enumerate(numbers[1:], start=1):
        later = numbers[turn + 1] if turn + 1 < size else numbers[turn - 1]
        operands = (state, number)
        state = sheet.add(f"turn {turn}", INSERT, operands, FRAMES, _slips(operands, later))
    asked = random.randrange(2, max(3, len(sheet.values[-1])))
    operands = (state, asked)
    pick_slips = [
        *(Slip("off_by_one", _pick(shift), operands) for shift in (-1, 1)),
        Slip("misread", _pick(), (state, asked + 1)),
    ]
    sheet.add("the answer", _pick(), operands, PICKED, pick_slips)
    return Problem(
        f"Start with the list [{numbers[0]}] and put in the numbers "
        f"{', '.join(map(str, numbers[1:]))} one at a time, in turn 1 the first of them, in turn 2 "
        "the second, and so on. Each is put in just before the first number of the list, from the "
        "left, that is larger, or at the end if there is none; a number that is in the list "
        f"already is not put in again. Which is number {asked} of the list at the end, counted "
        "from the left, where the first is number 1?",
        sheet.nodes,
    )


def _slips(operands: tuple[Any, int], later: int) -> Slips:
    state, number = operands

    def slips(random: Random) -> Iterator[Slip]:
        yield Slip("dropped_case", FORGET, operands)
        yield Slip("misread", INSERT, (state, misread(random, number)))
        for shift in (-1, 1):
            yield Slip("off_by_one", _insert(shift), operands)
        yield Slip("condition", _insert(repeats=True), operands)
        yield Slip("swapped_roles", INSERT, (state, later))

    return slips
