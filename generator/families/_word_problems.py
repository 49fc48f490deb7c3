"""Quantities told in a story, each in terms of an earlier one, and their total."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref
from misstep.generator._names import GOODS
from misstep.generator._numbers import (
    ADD,
    FRAMES,
    MULTIPLY,
    SUBTRACT,
    TOTAL,
    arithmetic_slips,
    dropped_term,
    either,
    positive,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = (
    "wrong_operation",
    "dropped_case",
    "misread",
    "off_by_one",
    "swapped_roles",
    "condition",
)
LATE = ("dropped_case",)

PLACES = ("farm", "museum", "toy shop", "market stall", "school store", "harbour", "library")
AMOUNTS = {1: (2, 10), 2: (6, 40), 3: (25, 160)}
LIMITS = {1: 400, 2: 2000, 3: 9000}
MORE_IF = either(ADD, SUBTRACT)
FEWER_IF = either(SUBTRACT, ADD)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """A story of as many quantities as nodes; the last node is the total."""
    sheet = Sheet()
    things = random.sample(GOODS, size)
    low, high = AMOUNTS[difficulty]
    fits = positive(LIMITS[difficulty] * size)
    first = random.randrange(3 * low, 3 * high)
    known: list[Any] = [first]
    sentences = [f"A {random.choice(PLACES)} has {first} {things[0]}."]
    for name in things[1:]:
        base = len(known) - 1 if random.random() < 0.6 else random.randrange(len(known))
        current = sheet.value(known[base])
        amount = random.randrange(low, high)
        kind = random.choice(("more", "fewer", "more_if", "fewer_if", "times"))
        if kind == "times" and (current > 4 * high or current < 2):
            kind = "fewer"
        if kind != "times" and current <= amount + 1:
            kind = "more"
        limit = max(2, current + random.choice((-1, 1)) * random.randrange(1, low + 3))
        told, operation, operands = _told(kind, name, things[base], known[base], amount, limit)
        others = [ref for ref in known if isinstance(ref, Ref) and ref != known[base]][-3:]
        slips = arithmetic_slips(operation, operands, others)
        if operation is MORE_IF or operation is FEWER_IF:
            other = FEWER_IF if operation is MORE_IF else MORE_IF
            slips = slips_of(slips, slip("condition", other, operands))
        known.append(sheet.add(f"the {name}", operation, operands, FRAMES, slips, fits))
        sentences.append(told)
    slips = slips_of(arithmetic_slips(TOTAL, known), dropped_term(TOTAL, known))
    sheet.add("the total", TOTAL, known, FRAMES, slips, fits)
    return sheet.problem(" ".join([*sentences, "How many things are there in all?"]))


def _told(
    kind: str, name: str, base: str, known: object, amount: int, limit: int
) -> tuple[str, Operation, tuple[Any, ...]]:
    """The sentence for a relation, and what it asks to be computed."""
    if kind == "times":
        times = amount % 3 + 2
        return f"It has {times} times as many {name} as {base}.", MULTIPLY, (known, times)
    if kind in ("more", "fewer"):
        operation = ADD if kind == "more" else SUBTRACT
        return f"It has {amount} {kind} {name} than {base}.", operation, (known, amount)
    first, second = ("more", "fewer") if kind == "more_if" else ("fewer", "more")
    told = (
        f"If it has more than {limit} {base}, it has {amount} {first} {name} than {base}; "
        f"otherwise {amount} {second}."
    )
    return told, MORE_IF if kind == "more_if" else FEWER_IF, (known, amount, limit)
