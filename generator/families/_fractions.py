"""A tank that is filled and emptied by fractions."""

from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip, text_of
from misstep.generator._numbers import ADD, MULTIPLY, SUBTRACT, Number, NumberSheet, exact

ERROR_TYPES = "sign misread off_by_one swapped_roles overgeneralisation"
PARTS = (Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 4), Fraction(3, 4))
DENOMINATORS = {1: (2, 4), 2: (2, 3, 4, 6), 3: (2, 3, 4, 5, 6, 8, 12)}
FINEST = {1: 64, 2: 144, 3: 480}

SUM_OF_PARTS = Operation(
    lambda a, b: Fraction(a.numerator + b.numerator, a.denominator + b.denominator), ADD.show
)
"""A common error: numerators and denominators are added separately."""


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make one node for an amount or a doubling, and two for a part that is taken out."""
    finest = FINEST[difficulty]

    def fits(value: Any) -> bool:  # noqa: ANN401
        return 0 < value < 60 and Fraction(value).denominator <= finest

    sheet = NumberSheet(fits)
    start = exact(Fraction(random.randrange(7, 40), random.choice(DENOMINATORS[difficulty])))
    sentences = [f"A tank contains {_litres(start)}."]
    level: Any = start
    while len(sheet) < size:
        number = len(sentences)
        now = Fraction(sheet.value(level))
        part = random.choice(PARTS)
        amount = exact(Fraction(random.randrange(1, 12), random.choice(DENOMINATORS[difficulty])))
        kind = random.choice(("in", "out", "part", "part", "double"))
        if kind == "part" and (size - len(sheet) < 2 or (now * part).denominator > finest // 4):
            kind = "in"
        if kind == "out" and now <= amount:
            kind = "in"
        if kind == "double" and now > 20:
            kind = "out"
        action = {
            "in": f"{_litres(amount)} {'is' if amount <= 1 else 'are'} poured in",
            "out": f"{_litres(amount)} {'is' if amount <= 1 else 'are'} poured out",
            "part": f"{text_of(part)} of what is in the tank is poured out",
            "double": "what is in the tank is doubled",
        }[kind]
        sentences.append(f"Action {number}: {action}.")
        before = start if number < 3 else Ref(0)
        level = _act(sheet, number, kind, level, part if kind == "part" else amount, before)
    sentences.append("How many litres does the tank contain at the end?")
    return Problem(" ".join(sentences), sheet.nodes)


def _litres(amount: Number) -> str:
    return f"{text_of(amount)} {'litre' if amount <= 1 else 'litres'}"


def _act(
    sheet: NumberSheet,
    number: int,
    kind: str,
    level: Any,  # noqa: ANN401
    amount: Number,
    before: Number | Ref,
) -> Ref:
    """Add the nodes of an action. The last one is the new level."""
    name = f"the level after action {number}"
    if kind == "double":
        return sheet.compute(name, MULTIPLY, (level, 2))
    taken: Any = amount
    if kind == "part":
        slip = Slip("swapped_roles", MULTIPLY, (before, amount))
        name_taken = f"the amount taken out in action {number}"
        taken = sheet.compute(name_taken, MULTIPLY, (level, amount), slip)
    operation, other = (ADD, SUBTRACT) if kind == "in" else (SUBTRACT, ADD)
    operands = (level, taken)
    slips = [Slip("sign", other, operands)]
    if kind == "in":
        slips.append(Slip("overgeneralisation", SUM_OF_PARTS, operands))
    return sheet.compute(name, operation, operands, *slips)
