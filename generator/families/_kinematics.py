"""A walk in legs: hours and minutes, kilometres and metres, forwards and back."""

from random import Random
from typing import Any

from misstep.generator._graph import Fits, Operation, Problem, Ref
from misstep.generator._numbers import (
    ADD,
    FRAMES,
    MULTIPLY,
    SUBTRACT,
    arithmetic_slips,
    positive,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = ("wrong_operation", "sign", "misread", "unit", "off_by_one", "swapped_roles")
HOURS = {1: (1, 2), 2: (1, 4), 3: (2, 8)}


def _in_small_units(factor: int) -> Operation:
    return Operation(
        lambda large, small: large * factor + small,
        lambda large, small: f"{large} × {factor} + {small}",
        lambda large, small: f"{small} + {factor} × {large}",
    )


MINUTES, METRES = _in_small_units(60), _in_small_units(1000)
TAKEN_FOR = {MINUTES: _in_small_units(100), METRES: _in_small_units(100)}


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Legs of two or three nodes each; the last node is where the walk ends."""
    sheet = Sheet()
    fits = positive(400_000)
    start = random.randrange(20, 90) * 100 * HOURS[difficulty][1]
    place: Any = start
    lengths: list[Ref] = []
    sentences = [f"A walker starts {start} m east of a tower and walks along a straight road."]
    while len(sheet) < size:
        left = size - len(sheet)
        timed = left == 3 or (left > 4 and random.random() < 0.5)
        number = len(lengths) + 1
        told, length = _leg(random, sheet, number, timed, difficulty, fits)
        back = random.random() < 0.5 and sheet.value(place) > sheet.value(length)
        operation, other = (SUBTRACT, ADD) if back else (ADD, SUBTRACT)
        operands = (place, length)
        slips = slips_of(
            arithmetic_slips(operation, operands, lengths[-2:]), slip("sign", other, operands)
        )
        place = sheet.add(f"the place after leg {number}", operation, operands, FRAMES, slips, fits)
        lengths.append(length)
        sentences.append(f"Leg {number}: {told} {'west' if back else 'east'}.")
    sentences.append("How many metres east of the tower does the walker end?")
    return sheet.problem(" ".join(sentences))


def _leg(
    random: Random, sheet: Sheet, number: int, timed: bool, difficulty: int, fits: Fits
) -> tuple[str, Ref]:
    """What is told of a leg, and the node with its length."""
    hours = random.randrange(*HOURS[difficulty])
    if not timed:
        metres = random.randrange(5, 95) * 10
        told = f"{hours} km {metres} m"
        return told, _converted(sheet, f"the length of leg {number}", METRES, (hours, metres), fits)
    minutes, speed = random.randrange(5, 56), random.randrange(20, 90)
    time = _converted(sheet, f"the minutes of leg {number}", MINUTES, (hours, minutes), fits)
    operands = (time, speed)
    slips = slips_of(
        arithmetic_slips(MULTIPLY, operands), slip("swapped_roles", MULTIPLY, (minutes, speed))
    )
    name = f"the length of leg {number}"
    told = f"{hours} h {minutes} min at {speed} m a minute"
    return told, sheet.add(name, MULTIPLY, operands, FRAMES, slips, fits)


def _converted(
    sheet: Sheet, name: str, operation: Operation, operands: tuple[int, int], fits: Fits
) -> Ref:
    slips = slips_of(
        arithmetic_slips(operation, operands),
        slip("unit", TAKEN_FOR[operation], operands),
        slip("swapped_roles", operation, operands[::-1]),
    )
    return sheet.add(name, operation, operands, FRAMES, slips, fits)
