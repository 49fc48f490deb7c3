"""A tank that is filled and emptied by fractions."""

from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Fits, Operation, Problem, Ref, text_of
from misstep.generator._numbers import (
    ADD,
    FRAMES,
    MULTIPLY,
    SUBTRACT,
    Number,
    arithmetic_slips,
    exact,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = (
    "wrong_operation",
    "sign",
    "misread",
    "off_by_one",
    "swapped_roles",
    "overgeneralisation",
)
PARTS = (Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(1, 4), Fraction(3, 4))
DENOMINATORS = {1: (2, 4), 2: (2, 3, 4, 6), 3: (2, 3, 4, 5, 6, 8, 12)}
FINEST = {1: 64, 2: 144, 3: 480}

SUM_OF_PARTS = Operation(
    lambda a, b: Fraction(a.numerator + b.numerator, a.denominator + b.denominator), ADD.show
)
"""Numerators and denominators added up, as some do."""


def build(random: Random, size: int, difficulty: int) -> Problem:
    """One node for what is poured in or doubled; two for a part that is taken out."""
    sheet = Sheet()
    finest = FINEST[difficulty]

    def fits(value: Any) -> bool:  # noqa: ANN401
        return 0 < value < 60 and Fraction(value).denominator <= finest

    start = exact(Fraction(random.randrange(7, 40), random.choice(DENOMINATORS[difficulty])))
    sentences = [f"A tank holds {text_of(start)} litres."]
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
        sentences.append(f"Action {number}: {_told(kind, amount, part)}.")
        before = start if number < 3 else Ref(0)
        level = _act(sheet, number, kind, level, part if kind == "part" else amount, before, fits)
    sentences.append("How many litres does the tank hold at the end?")
    return sheet.problem(" ".join(sentences))


def _told(kind: str, amount: Number, part: Fraction) -> str:
    return {
        "in": f"{text_of(amount)} litres are poured in",
        "out": f"{text_of(amount)} litres are poured out",
        "part": f"{text_of(part)} of what is in the tank is poured out",
        "double": "what is in the tank is doubled",
    }[kind]


def _act(
    sheet: Sheet,
    number: int,
    kind: str,
    level: Any,  # noqa: ANN401
    amount: Number,
    before: Any,  # noqa: ANN401
    fits: Fits,
) -> Ref:
    """The nodes of an action; the last of them is the new level."""
    name = f"the level after action {number}"
    if kind == "double":
        slips = arithmetic_slips(MULTIPLY, (level, 2))
        return sheet.add(name, MULTIPLY, (level, 2), FRAMES, slips, fits)
    taken: Any = amount
    if kind == "part":
        operands = (level, amount)
        slips = slips_of(
            arithmetic_slips(MULTIPLY, operands), slip("swapped_roles", MULTIPLY, (before, amount))
        )
        part = f"the part in action {number}"
        taken = sheet.add(part, MULTIPLY, operands, FRAMES, slips, fits)
    operation, other = (ADD, SUBTRACT) if kind == "in" else (SUBTRACT, ADD)
    operands = (level, taken)
    slips = slips_of(arithmetic_slips(operation, operands), slip("sign", other, operands))
    if kind == "in":
        slips = slips_of(slips, slip("overgeneralisation", SUM_OF_PARTS, operands))
    return sheet.add(name, operation, operands, FRAMES, slips, fits)
