"""Sequences whose differences grow, with an exception for some terms."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import ADD, SUBTRACT, NumberSheet, positive

ERROR_TYPES = "sign misread off_by_one swapped_roles overgeneralisation condition"
SIZES = {1: (2, 8), 2: (4, 20), 3: (11, 60)}


def _unless_divisible(by: int, usual: Operation, exception: Operation) -> Operation:
    """Return an operation with an exception if the first operand is divisible by a number."""

    def chosen(a: int) -> Operation:
        return usual if a % by else exception

    return Operation(lambda a, b: chosen(a).run(a, b), lambda a, b: chosen(a).show(a, b))


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make differences and terms in turn. The last node is a term, or a sum of two."""
    low, high = SIZES[difficulty]
    first, difference = random.randrange(2 * high, 4 * high), random.randrange(low, high)
    growth, by = random.randrange(2, 3 + low), random.choice((3, 4, 5))
    rule = _unless_divisible(by, ADD, SUBTRACT)
    flipped = _unless_divisible(by, SUBTRACT, ADD)
    sheet = NumberSheet(positive(400 * high))
    term: Any = first
    step: Any = difference
    steps, terms = [step], [term]
    while len(sheet) < size - (size % 2 == 0):
        if len(terms) == len(steps):
            operands = (term, step)
            term = sheet.compute(
                f"term {len(terms) + 1}",
                rule,
                operands,
                Slip("condition", ADD, operands),
                Slip("overgeneralisation", rule, (term, steps[0])),
                Slip("sign", flipped, operands),
                Slip("off_by_one", rule, (term, steps[-2:][0])),
                Slip("swapped_roles", rule, (terms[-2:][0], step)),
            )
            terms.append(term)
        else:
            others = [t for t in terms if isinstance(t, Ref)][-1:]
            name = f"difference {len(steps) + 1}"
            step = sheet.compute(name, ADD, (step, growth), others=others)
            steps.append(step)
    asked = f"What is term {len(terms)}?"
    if size % 2 == 0:
        asked = f"What is the sum of term {len(terms) - 1} and term {len(terms)}?"
        others = [t for t in terms if isinstance(t, Ref)][-3:]
        sheet.compute("the sum", ADD, terms[-2:], others=others)
    return Problem(
        f"A sequence has term 1 equal to {first}. Difference 1 is {difference}, and each further "
        f"difference is {growth} more than the one before. To get from a term to the next, add the "
        "difference: difference 1 takes term 1 to term 2, difference 2 takes term 2 to term 3, and "
        f"so on. But if the term that one starts from is divisible by {by}, subtract the "
        f"difference instead. {asked}",
        sheet.nodes,
    )
