"""Systems of linear equations that are solved one after the other."""

from itertools import pairwise
from random import Random
from typing import Any

from misstep.generator._graph import Problem, Slip
from misstep.generator._numbers import ADD, CODE_FRAMES, DIVIDE, MULTIPLY, SUBTRACT, NumberSheet

ERROR_TYPES = "sign misread off_by_one swapped_roles"
UNKNOWNS = "abcdefghjkmnpqrstuvwxyz"
SIZES = {1: (2, 6), 2: (2, 10), 3: (3, 25)}
LIMITS = {1: 200, 2: 900, 3: 9000}


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make two or three nodes per equation: a product, a right side, a quotient."""
    low, high = SIZES[difficulty]
    limit = LIMITS[difficulty]

    def fits(value: object) -> bool:
        return type(value) is int and value != 0 and abs(value) <= limit

    names = sorted(random.sample(UNKNOWNS, size // 2 + 1))
    first = random.choice((-1, 1)) * random.randrange(2, high)
    equations = [f"{names[0]} = {first}"]
    known: list[Any] = [first]
    sheet = NumberSheet(fits, CODE_FRAMES)
    own = 1
    """The factor of the unknown. The next equation has another one, so that 2a is named once."""
    for base_name, name in pairwise(names):
        left = size - len(sheet)
        if left == 0:
            break
        divided = left == 3 or (left > 4 and random.random() < 0.4)
        base = known[-1]
        factor = random.choice([number for number in range(low, high) if number != own])
        own = random.choice((2, 3)) if divided else 1
        sign = random.choice((-1, 1))
        value = random.choice((-1, 1)) * random.randrange(2, 2 * high)
        right = own * value + sign * factor * sheet.value(base)
        if right == 0 or not fits(right):
            right += own * (limit // 50 + 1)
        target = name if own == 1 else f"{own}{name}"
        equations.append(f"{target} {'+' if sign > 0 else '-'} {factor}{base_name} = {right}")
        others = [other for other in known if other != base][-2:]
        product = sheet.compute(f"{factor}{base_name}", MULTIPLY, (factor, base), others=others)
        operation, other = (SUBTRACT, ADD) if sign > 0 else (ADD, SUBTRACT)
        moved = (right, product)
        ref = sheet.compute(target, operation, moved, Slip("sign", other, moved))
        if divided:
            ref = sheet.compute(name, DIVIDE, (ref, own))
        known.append(ref)
    asked = names[len(known) - 1]
    return Problem(f"Given {', '.join(equations)}, find {asked}.", sheet.nodes)
