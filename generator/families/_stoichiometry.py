"""A chain of reactions: amounts from masses, yields, losses, additions, and a final mass."""

from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slips
from misstep.generator._names import SUBSTANCES
from misstep.generator._numbers import (
    ADD,
    DIVIDE,
    FRAMES,
    MULTIPLY,
    SUBTRACT,
    arithmetic_slips,
    exact,
    positive,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = (
    "wrong_operation",
    "misread",
    "unit",
    "off_by_one",
    "swapped_roles",
    "sign",
    "condition",
)
AMOUNTS = {1: (2, 9), 2: (4, 25), 3: (12, 90)}
LEAST = Operation(min, lambda a, b: f"min({a}, {b})")
UNLIMITED = Operation(max, lambda a, b: f"min({a}, {b})")
WITH_MASS = Operation(lambda a, g, m: exact(a + Fraction(g, m)), lambda a, g, m: f"{a} + {g} ÷ {m}")
WITH_GRAMS = Operation(lambda a, g, m: a + g, lambda a, g, m: f"{a} + {g}")
RATIO = Operation(lambda a, p, q: exact(Fraction(a * q, p)), lambda a, p, q: f"{a} × {q} ÷ {p}")


def build(random: Random, size: int, difficulty: int) -> Problem:
    """One substance becomes the next; the last node is a mass."""
    low, high = AMOUNTS[difficulty]
    names = random.sample(SUBSTANCES, size + 1)
    fits = positive(600 * high)
    sheet = Sheet()
    molar, amount = random.randrange(11, 90), random.randrange(2 * low, 2 * high)
    mass = molar * amount
    sentences = [f"{mass} g of {names[0]} are used, at {molar} g a mole."]
    operands: tuple[Any, ...] = (mass, molar)
    slips: Slips = arithmetic_slips(DIVIDE, operands)
    ref = sheet.add(f"the moles of {names[0]}", DIVIDE, operands, FRAMES, slips, fits)
    done: list[Ref] = []
    for before, name in pairwise(names):
        if len(sheet) == size - 1:
            break
        earlier, done = done[-2:], [*done, ref]
        told, operation, operands, extra = _reaction(
            random, sheet.value(ref), ref, (before, name), (low, high)
        )
        slips = slips_of(arithmetic_slips(operation, operands, earlier), *extra)
        ref = sheet.add(f"the moles of {name}", operation, operands, FRAMES, slips, fits)
        sentences.append(told)
    last, weight = names[len(sheet) - 1], random.randrange(11, 90)
    sentences.append(f"One mole of {last} weighs {weight} g. What mass of {last}, in g, results?")
    operands = (ref, weight)
    slips = slips_of(
        arithmetic_slips(MULTIPLY, operands, done[-2:]),
        slip("unit", MULTIPLY, (ref, molar)),
    )
    sheet.add(f"the mass of {last}", MULTIPLY, operands, FRAMES, slips, positive(60_000 * high))
    return sheet.problem(" ".join(sentences))


def _reaction(
    random: Random, current: int, ref: Ref, names: tuple[str, str], sizes: tuple[int, int]
) -> tuple[str, Operation, tuple[Any, ...], list[Slips]]:
    """What is told of a reaction, what it asks to be computed, and its own slips."""
    before, name = names
    amount = random.randrange(*sizes)
    kind = random.choice(("yield", "loss", "added", "limited", "mass", "ratio"))
    if kind == "yield" and current < 3 * sizes[1]:
        times = random.randrange(2, 5)
        return f"Each mole of {before} gives {times} moles of {name}.", MULTIPLY, (ref, times), []
    if kind == "loss" and current > amount + 2:
        told = f"{amount} moles of {before} are lost, each other mole gives one mole of {name}."
        operands: tuple[Any, ...] = (ref, amount)
        return told, SUBTRACT, operands, [slip("sign", ADD, operands)]
    if kind == "limited":
        limit = max(2, current + random.choice((-1, 1)) * random.randrange(1, 2 + sizes[0]))
        told = (
            f"Each mole of {before} needs one mole of water, of which there are {limit} moles, to "
            f"give one mole of {name}."
        )
        operands = (ref, limit)
        return told, LEAST, operands, [slip("condition", UNLIMITED, operands)]
    if kind == "mass":
        molar = random.randrange(2, 6)
        told = (
            f"Each mole of {before} gives one mole of {name}, and {amount * molar} g of {name}, "
            f"at {molar} g a mole, are added."
        )
        operands = (ref, amount * molar, molar)
        return told, WITH_MASS, operands, [slip("unit", WITH_GRAMS, operands)]
    if kind == "ratio":
        p, q = random.sample((2, 3, 4, 5), 2)
        if current % p == 0 and (q < p or current < 3 * sizes[1]):
            told = f"Every {p} moles of {before} give {q} moles of {name}."
            return told, RATIO, (ref, p, q), [slip("swapped_roles", RATIO, (ref, q, p))]
    told = f"Each mole of {before} gives one mole of {name}, and {amount} moles of it are added."
    operands = (ref, amount)
    return told, ADD, operands, [slip("sign", SUBTRACT, operands)]
