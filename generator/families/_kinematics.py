"""A walk in legs: hours and minutes, kilometres and metres, forwards and back."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import ADD, MULTIPLY, SUBTRACT, NumberSheet, positive

ERROR_TYPES = "sign misread unit off_by_one swapped_roles"
HOURS = {1: (1, 2), 2: (1, 4), 3: (2, 8)}


def _in_small_units(factor: int) -> Operation:
    return Operation(
        lambda large, small: large * factor + small,
        lambda large, small: f"{large} × {factor} + {small}",
        lambda large, small: f"{small} + {factor} × {large}",
    )


MINUTES, METRES, HUNDREDS = (_in_small_units(factor) for factor in (60, 1000, 100))
TAKEN_FOR = {MINUTES: HUNDREDS, METRES: HUNDREDS, HUNDREDS: MINUTES}
"""The factors that are mistaken for each other. Each is right for some legs."""


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make legs of two or three nodes each. The last node is the end of the walk."""
    sheet = NumberSheet(positive(400_000))
    start = random.randrange(20, 90) * 100 * HOURS[difficulty][1]
    place: Any = start
    lengths: list[Ref] = []
    sentences = [
        f"A walker starts {start} m east of a tower and walks along a straight road "
        "(1 km is 1000 m, 1 hm is 100 m)."
    ]
    while len(sheet) < size:
        left = size - len(sheet)
        timed = left == 3 or (left > 4 and random.random() < 0.5)
        number = len(lengths) + 1
        text, length = _leg(random, sheet, number, timed, difficulty)
        back = random.random() < 0.5 and sheet.value(place) > sheet.value(length)
        operation, other = (SUBTRACT, ADD) if back else (ADD, SUBTRACT)
        place = sheet.compute(
            f"the place after leg {number}",
            operation,
            (place, length),
            Slip("sign", other, (place, length)),
            others=lengths[-2:],
        )
        lengths.append(length)
        sentences.append(f"Leg {number}: {text} {'west' if back else 'east'}.")
    sentences.append("How many metres east of the tower does the walker end?")
    return Problem(" ".join(sentences), sheet.nodes)


def _leg(
    random: Random, sheet: NumberSheet, number: int, timed: bool, difficulty: int
) -> tuple[str, Ref]:
    """Return the text of a leg, and the node with its length."""
    hours = random.randrange(*HOURS[difficulty])
    name = f"the length of leg {number}"
    if not timed:
        large, operation, most = random.choice((("km", METRES, 95), ("hm", HUNDREDS, 9)))
        metres = random.randrange(2, most) * 10
        return f"{hours} {large} {metres} m", _converted(sheet, name, operation, (hours, metres))
    minutes, speed = random.randrange(5, 56), random.randrange(20, 90)
    time = _converted(sheet, f"the minutes of leg {number}", MINUTES, (hours, minutes))
    slip = Slip("swapped_roles", MULTIPLY, (minutes, speed))
    text = f"{hours} h {minutes} min at {speed} m a minute"
    return text, sheet.compute(name, MULTIPLY, (time, speed), slip)


def _converted(
    sheet: NumberSheet, name: str, operation: Operation, operands: tuple[int, int]
) -> Ref:
    return sheet.compute(
        name,
        operation,
        operands,
        Slip("unit", TAKEN_FOR[operation], operands),
        Slip("swapped_roles", operation, operands[::-1]),
    )
