"""Probabilities of events, and the expected number of events that happen."""

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip, text_of
from misstep.generator._numbers import ADD, SUBTRACT, NumberSheet, exact

ERROR_TYPES = "wrong_operation misread off_by_one swapped_roles overgeneralisation condition sign"
BAGS = {1: (4, 5), 2: (4, 5, 6), 3: (5, 6, 9, 10)}
CHANCES = {1: (2, 4), 2: (2, 3, 4), 3: (2, 3, 4, 5, 6)}
RANGES = {1: (12, 20), 2: (12, 20, 24, 30), 3: (24, 30, 36, 40)}

Event = tuple[str, Operation, tuple[Any, ...], list[Slip]]

BOTH = Operation(
    lambda r, n: exact(Fraction(r, n) * Fraction(r - 1, n - 1)),
    lambda r, n: f"{r}/{n} × ({r} - 1) ÷ ({n} - 1)",
    lambda r, n: f"({r} - 1) ÷ ({n} - 1) × {r}/{n}",
)
BOTH_PUT_BACK = Operation(
    lambda r, n: exact(Fraction(r, n) ** 2),
    lambda r, n: f"{r}/{n} × {r}/{n}",
    lambda r, n: f"{r} × {r} ÷ ({n} × {n})",
)
ANY = Operation(
    lambda a, b: exact(1 - (1 - a) * (1 - b)),
    lambda a, b: f"1 - (1 - {a}) × (1 - {b})",
    lambda a, b: f"{a} + {b} - {a} × {b}",
)
NONE = Operation(
    lambda a, b: exact((1 - a) * (1 - b)),
    lambda a, b: f"(1 - {a}) × (1 - {b})",
    lambda a, b: f"1 - {a} - {b} + {a} × {b}",
)
TIMES = Operation(lambda a, b: exact(a * b), lambda a, b: f"{a} × {b}", lambda a, b: f"{b} × {a}")
MIXED = Operation(
    lambda a, b: exact((a + b) / 2),
    lambda a, b: f"1/2 × {a} + 1/2 × {b}",
    lambda a, b: f"({a} + {b}) × 1/2",
)
MORE = Operation(
    lambda s: Fraction(s * s - s, 2 * s * s),
    lambda s: f"({s} × {s} - {s}) ÷ 2 ÷ ({s} × {s})",
    lambda s: f"({s} - 1) × {s} ÷ 2 ÷ ({s} × {s})",
)
MORE_OR_SAME = Operation(
    lambda s: Fraction(s * s + s, 2 * s * s),
    lambda s: f"({s} × {s} + {s}) ÷ 2 ÷ ({s} × {s})",
    lambda s: f"({s} + 1) × {s} ÷ 2 ÷ ({s} × {s})",
)


def _divisible(p: int, q: int) -> tuple[Operation, Operation]:
    """Return the chance that a number is divisible by one of two, and the same with an error."""

    def counted(common: int) -> Operation:
        return Operation(
            lambda n: exact(Fraction(n // p + n // q - n // common, n)),
            lambda n: f"({n // p} + {n // q} - {n // common}) ÷ {n}",
        )

    return counted(lcm(p, q)), counted(p * q if lcm(p, q) < p * q else p + q)


def _event(random: Random, difficulty: int) -> Event:
    """Return the text of an event, its computation, and its own slips.

    What is an error in one kind of event is right in another.
    """
    kind = random.choice(("bag", "back", "range", "dice", "dice", "lamps", "lamps", "mixed"))
    if kind in ("bag", "back"):
        n = random.choice(BAGS[difficulty])
        red = random.randrange(2, n - 1)
        text = (
            "both balls are red, when two are drawn at random, one after the other, from a bag "
            f"with {red} red and {n - red} blue balls, and the first is "
            f"{'not ' * (kind == 'bag')}put back before the second is drawn"
        )
        right, wrong = (BOTH, BOTH_PUT_BACK) if kind == "bag" else (BOTH_PUT_BACK, BOTH)
        other = Slip("swapped_roles", right, (n - red, n))
        return text, right, (red, n), [Slip("overgeneralisation", wrong, (red, n)), other]
    if kind == "range":
        n, (p, q) = random.choice(RANGES[difficulty]), random.sample((2, 3, 4, 5, 6), 2)
        right, wrong = _divisible(p, q)
        text = (
            f"the number is divisible by {p} or by {q} (or by both), when it is drawn from the "
            f"whole numbers from 1 to {n}, which are equally likely"
        )
        return text, right, (n,), [Slip("condition", wrong, (n,))]
    if kind == "dice":
        sides = random.choice((4, 6, 10)[:difficulty])
        more = random.random() < 0.5
        text = (
            f"the second die shows {'more than' if more else 'at least as much as'} the first, "
            f"when two fair dice are rolled, each with {sides} sides that are numbered from 1 to "
            f"{sides}"
        )
        right, wrong = (MORE, MORE_OR_SAME) if more else (MORE_OR_SAME, MORE)
        return text, right, (sides,), [Slip("condition", wrong, (sides,))]
    a, b = (_chance(random, difficulty) for _ in range(2))
    if kind == "mixed":
        text = (
            "the ball is red, when a fair coin decides from which of two boxes it is drawn, and a "
            f"ball is red with probability {text_of(a)} in the first box and {text_of(b)} in the "
            "second"
        )
        return text, MIXED, (a, b), [Slip("overgeneralisation", TIMES, (a, b))]
    event, error_type, right, wrong = random.choice(
        (
            ("at least one of two lamps is on", "sign", ANY, NONE),
            ("both of two lamps are off", "sign", NONE, ANY),
            ("both of two lamps are on", "wrong_operation", TIMES, ANY),
        )
    )
    text = (
        f"{event}, where each of the two is on independently of the other, with probability "
        f"{text_of(a)} the first and {text_of(b)} the second"
    )
    return text, right, (a, b), [Slip(error_type, wrong, (a, b))]


def _chance(random: Random, difficulty: int) -> Fraction:
    below = random.choice(CHANCES[difficulty])
    return Fraction(random.randrange(1, below), below)


def _share(value: Any) -> bool:  # noqa: ANN401
    return bool(0 < value < 1)


def _expected(most: int) -> Callable[[Any], bool]:
    return lambda value: bool(0 < value < most and Fraction(value).denominator <= 2520)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make events, and after each but the first the expected number so far."""
    sheet = NumberSheet(_share)
    sentences = ["Several experiments give these events."]
    chances: list[Ref] = []
    total: Any = None
    events = (size + 1) // 2
    for number in range(1, events + 1):
        text, operation, operands, slips = _event(random, difficulty)
        sentences.append(f"Event {number}: {text}.")
        chance = sheet.compute(f"the probability of event {number}", operation, operands, *slips)
        if total is None:
            total = chance
        else:
            name = f"the expected number that happen among events 1 to {number}"
            operands = (total, chance)
            total = sheet.compute(name, ADD, operands, others=chances[-2:], fits=_expected(number))
        chances.append(chance)
    asked = "What is the expected number of events that happen?"
    if size % 2 == 0:
        asked = f"What is the expected number of the {events} events that do not happen?"
        name = "the expected number that do not happen"
        sheet.compute(name, SUBTRACT, (events, total), fits=_expected(events))
    return Problem(" ".join([*sentences, asked]), sheet.nodes)
