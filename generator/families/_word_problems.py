"""Quantities in a story, each defined by an earlier one, and their total."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip, words
from misstep.generator._numbers import (
    ADD,
    MULTIPLY,
    SUBTRACT,
    TOTAL,
    Number,
    NumberSheet,
    dropped_terms,
    positive,
)

ERROR_TYPES = "wrong_operation dropped_case misread off_by_one swapped_roles condition"
LATE = "dropped_case"

GOODS = words(
    "hens ducks geese goats sheep pigs cows ponies rabbits turkeys cats dogs lambs calves bulls "
    "pens books maps lamps chairs boxes kites drums bells clocks cups plates spoons jars ropes "
    "hats coats shoes socks scarves"
)
"""No name is part of another."""
PLACES = ("farm", "museum", "toy shop", "market stall", "school store", "harbour", "library")
SMALL = 0.1
"""The share of differences that are as small as factors."""
AMOUNTS = {1: (2, 10), 2: (6, 40), 3: (25, 160)}
LIMITS = {1: 400, 2: 2000, 3: 9000}


def _either(yes: Operation, no: Operation) -> Operation:
    """Return one operation if the first operand is greater than the third, else the other."""

    def chosen(a: Number, limit: Number) -> Operation:
        return yes if a > limit else no

    return Operation(
        lambda a, b, limit: chosen(a, limit).run(a, b),
        lambda a, b, limit: chosen(a, limit).show(a, b),
    )


MORE_IF = _either(ADD, SUBTRACT)
FEWER_IF = _either(SUBTRACT, ADD)
REVERSED = {MORE_IF: FEWER_IF, FEWER_IF: MORE_IF}


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a story of as many quantities as nodes. The last node is the total."""
    things = random.sample(GOODS, size)
    low, high = AMOUNTS[difficulty]
    sheet = NumberSheet(positive(LIMITS[difficulty] * size))
    first = random.randrange(3 * low, 3 * high)
    known: list[Any] = [first]
    sentences = [f"A {random.choice(PLACES)} has {first} {things[0]}."]
    for name in things[1:]:
        base = len(known) - 1 if random.random() < 0.6 else random.randrange(len(known))
        current = sheet.value(known[base])
        amount = random.randrange(low, high) if random.random() > SMALL else random.randrange(2, 5)
        kind = random.choice(("more", "fewer", "more_if", "fewer_if", "times"))
        if kind == "times" and (current > 4 * high or current < 2):
            kind = "fewer"
        if kind != "times" and current <= amount + 1:
            kind = "more"
        limit = max(2, current + random.choice((-1, 1)) * random.randrange(1, low + 3))
        sentence, operation, operands = _relation(
            kind, name, things[base], known[base], amount, limit
        )
        sentences.append(sentence)
        others = [ref for ref in known if isinstance(ref, Ref) and ref != known[base]][-3:]
        more = [Slip("condition", REVERSED[operation], operands)] if operation in REVERSED else []
        ref = sheet.compute(
            f"the number of {name}", operation, operands, *more, others=others, confused=True
        )
        known.append(ref)
    sheet.compute("the total", TOTAL, known, *dropped_terms(known))
    return Problem(
        " ".join([*sentences, "How many does it have of all these kinds together?"]), sheet.nodes
    )


def _relation(
    kind: str, name: str, base: str, known: object, amount: int, limit: int
) -> tuple[str, Operation, tuple[Any, ...]]:
    """Return the sentence of a relation, and its computation."""
    if kind == "times":
        times = amount % 3 + 2
        return f"It has {times} times as many {name} as {base}.", MULTIPLY, (known, times)
    if kind in ("more", "fewer"):
        operation = ADD if kind == "more" else SUBTRACT
        return f"It has {amount} {kind} {name} than {base}.", operation, (known, amount)
    first, second = ("more", "fewer") if kind == "more_if" else ("fewer", "more")
    sentence = (
        f"If it has more than {limit} {base}, it has {amount} {first} {name} than {base}; "
        f"otherwise {amount} {second}."
    )
    return sentence, MORE_IF if kind == "more_if" else FEWER_IF, (known, amount, limit)
