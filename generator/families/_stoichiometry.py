"""A chain of reactions: amounts from masses, yields, losses, additions, and a final mass."""

from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip, words
from misstep.generator._numbers import ADD, DIVIDE, MULTIPLY, SUBTRACT, NumberSheet, exact, positive

ERROR_TYPES = "wrong_operation misread unit off_by_one swapped_roles sign condition"
SUBSTANCES = words(
    "arnium borite cadrol dexine elvate ferrol galorn hexuvine ionvar joline kelvar lumate morvane "
    "nitharn oxarn parite quorin rostal selumine tarine urvite valorn wexite xylorn yttrol zarine"
)
REAGENTS = words(
    "aquil brenol cintar dorvan estvar fenwar grisvan harvint isvan jorvel kintol larvan mestol "
    "norvar ostrel pintar quastol rendar sintol torvan "
    "ulvar vestol wintar yarvan zestol"
)
"""Invented names: the problem gives everything that is known about them."""
SMALL = 0.1
"""The share of amounts that are as small as factors."""
AMOUNTS = {1: (2, 9), 2: (4, 25), 3: (12, 90)}
LEAST = Operation(min, lambda a, b: f"min({a}, {b})", lambda a, b: f"({a} + {b}) - max({a}, {b})")
UNLIMITED = Operation(max, lambda a, b: f"min({a}, {b})")
WITH_MASS = Operation(lambda a, g, m: exact(a + Fraction(g, m)), lambda a, g, m: f"{a} + {g} ÷ {m}")
WITH_GRAMS = Operation(lambda a, g, m: a + g, lambda a, g, m: f"{a} + {g}")
RATIO = Operation(lambda a, p, q: exact(Fraction(a * q, p)), lambda a, p, q: f"{a} × {q} ÷ {p}")


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a chain of substances. The last node is a mass."""
    low, high = AMOUNTS[difficulty]
    names = random.sample(SUBSTANCES, size + 1)
    reagents = iter(random.sample(REAGENTS, size))
    sheet = NumberSheet(positive(600 * high))
    molar, amount = random.randrange(11, 90), random.randrange(2 * low, 2 * high)
    sentences = [f"{molar * amount} g of {names[0]} are used, at {molar} g a mole."]
    ref = sheet.compute(f"the amount of {names[0]} in moles", DIVIDE, (molar * amount, molar))
    done: list[Ref] = []
    for before, name in pairwise(names):
        if len(sheet) == size - 1:
            break
        earlier, done = done[-2:], [*done, ref]
        last = len(sheet) == size - 2
        sentence, operation, operands, slips = _reaction(
            random, sheet.value(ref), ref, (before, name, next(reagents)), (low, high), last
        )
        sentences.append(sentence)
        moles = f"the amount of {name} in moles"
        ref = sheet.compute(moles, operation, operands, *slips, others=earlier, confused=True)
    name, weight = names[len(sheet) - 1], random.randrange(11, 90)
    sentences.append(f"One mole of {name} weighs {weight} g. What mass of {name}, in g, results?")
    sheet.compute(
        f"the mass of {name} in g",
        MULTIPLY,
        (ref, weight),
        Slip("unit", MULTIPLY, (ref, molar)),
        others=done[-2:],
        fits=positive(60_000 * high),
    )
    return Problem(" ".join(sentences), sheet.nodes)


def _reaction(
    random: Random,
    current: int,
    ref: Ref,
    names: tuple[str, str, str],
    sizes: tuple[int, int],
    last: bool,
) -> tuple[str, Operation, tuple[Any, ...], list[Slip]]:
    """Return the text of a reaction, its computation, and its own slips.

    The last substance gets its mass of a mole at the end of the problem, so not in its reaction.
    """
    before, name, reagent = names
    amount = random.randrange(*sizes) if random.random() > SMALL else random.randrange(2, 5)
    kind = random.choice(("yield", "loss", "added", "limited", "ratio", *["mass"] * (not last)))
    if kind == "yield" and current < 3 * sizes[1]:
        times = random.randrange(2, 5)
        return f"Each mole of {before} gives {times} moles of {name}.", MULTIPLY, (ref, times), []
    if kind == "loss" and current > amount + 2:
        text = (
            f"{amount} moles of {before} are lost; every remaining mole of {before} gives one mole "
            f"of {name}."
        )
        return text, SUBTRACT, (ref, amount), [Slip("sign", ADD, (ref, amount))]
    if kind == "limited":
        limit = max(2, current + random.choice((-1, 1)) * random.randrange(1, 2 + sizes[0]))
        text = (
            f"Each mole of {before} needs one mole of {reagent} to give one mole of {name}; there "
            f"are {limit} moles of {reagent}, and {before} that gets none gives no {name}."
        )
        return text, LEAST, (ref, limit), [Slip("condition", UNLIMITED, (ref, limit))]
    if kind == "mass":
        molar = random.randrange(2, 6)
        text = (
            f"Each mole of {before} gives one mole of {name}, and a further {amount * molar} g of "
            f"{name}, at {molar} g a mole, are added."
        )
        operands = (ref, amount * molar, molar)
        return text, WITH_MASS, operands, [Slip("unit", WITH_GRAMS, operands)]
    if kind == "ratio":
        p, q = random.sample((2, 3, 4, 5), 2)
        if current % p == 0 and (q < p or current < 3 * sizes[1]):
            text = f"Every {p} moles of {before} give {q} moles of {name}."
            return text, RATIO, (ref, p, q), [Slip("swapped_roles", RATIO, (ref, q, p))]
    text = (
        f"Each mole of {before} gives one mole of {name}, and {amount} further moles of {name} are "
        "added."
    )
    return text, ADD, (ref, amount), [Slip("sign", SUBTRACT, (ref, amount))]
