"""Systems of linear equations that are solved from the top."""

from random import Random
from typing import Any

from misstep.generator._graph import Problem, Ref
from misstep.generator._numbers import (
    ADD,
    CODE_FRAMES,
    DIVIDE,
    MULTIPLY,
    SUBTRACT,
    arithmetic_slips,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = ("wrong_operation", "sign", "misread", "off_by_one", "swapped_roles")
UNKNOWNS = "abcdefghjkmnpqrstuvwxyz"
SIZES = {1: (2, 6), 2: (2, 10), 3: (3, 25)}
LIMITS = {1: 200, 2: 900, 3: 9000}


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Two or three nodes an equation: a product, a right side, a quotient."""
    low, high = SIZES[difficulty]
    limit = LIMITS[difficulty]

    def fits(value: object) -> bool:
        return type(value) is int and value != 0 and abs(value) <= limit

    names = sorted(random.sample(UNKNOWNS, size // 2 + 1))
    first = random.choice((-1, 1)) * random.randrange(2, high)
    equations = [f"{names[0]} = {first}"]
    known: list[Any] = [first]
    sheet = Sheet()
    for name in names[1:]:
        left = size - len(sheet)
        if left == 0:
            break
        divided = left == 3 or (left > 4 and random.random() < 0.4)
        base = len(known) - 1
        factor, own = random.randrange(low, high), random.choice((2, 3)) if divided else 1
        sign = random.choice((-1, 1))
        value = random.choice((-1, 1)) * random.randrange(2, 2 * high)
        right = own * value + sign * factor * sheet.value(known[base])
        if right == 0 or not fits(right):
            right += own * (limit // 50 + 1)
        equations.append(_equation(name, own, names[base], factor, sign, right))
        ref = _side(sheet, names[base], name, own, known, base, factor, sign, right, fits)
        if divided:
            slips = arithmetic_slips(DIVIDE, (ref, own))
            ref = sheet.add(name, DIVIDE, (ref, own), CODE_FRAMES, slips, fits)
        known.append(ref)
    asked = names[len(known) - 1]
    return sheet.problem(f"Given {', '.join(equations)}, find {asked}.")


def _equation(name: str, own: int, base: str, factor: int, sign: int, right: int) -> str:
    head = name if own == 1 else f"{own}{name}"
    return f"{head} {'+' if sign > 0 else '-'} {factor}{base} = {right}"


def _side(
    sheet: Sheet,
    base_name: str,
    name: str,
    own: int,
    known: list[Any],
    base: int,
    factor: int,
    sign: int,
    right: int,
    fits: Any,  # noqa: ANN401
) -> Ref:
    """The product of the known unknown, then the other side without it."""
    others = [other for other in known if other != known[base]][-2:]
    operands = (factor, known[base])
    slips = arithmetic_slips(MULTIPLY, operands, others)
    product = sheet.add(f"{factor}{base_name}", MULTIPLY, operands, CODE_FRAMES, slips, fits)
    operation, other = (SUBTRACT, ADD) if sign > 0 else (ADD, SUBTRACT)
    moved = (right, product)
    slips = slips_of(arithmetic_slips(operation, moved), slip("sign", other, moved))
    target = name if own == 1 else f"{own}{name}"
    return sheet.add(target, operation, moved, CODE_FRAMES, slips, fits)
