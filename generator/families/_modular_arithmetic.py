"""Remainders modulo a prime: sums, products, powers and inverses."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import CODE_FRAMES, NumberSheet

ERROR_TYPES = "wrong_operation sign misread off_by_one swapped_roles overgeneralisation"
PRIMES = {1: (7, 11), 2: (11, 13, 17), 3: (29, 37, 53, 71)}


class _Modulo:
    """The operations modulo a prime."""

    def __init__(self, m: int) -> None:
        self.linear = Operation(
            lambda a, k, b: (k * a + b) % m,
            lambda a, k, b: f"({k} × {a} + {b}) mod {m}",
            lambda a, k, b: f"({b} + {a} × {k}) mod {m}",
        )
        self.less = Operation(
            lambda a, k, b: (k * a - b) % m,
            lambda a, k, b: f"({k} × {a} - {b}) mod {m}",
            lambda a, k, b: f"({k} × {a} + {m} - {b}) mod {m}",
        )
        self.factored = Operation(
            lambda a, k, b: k * (a + b) % m,
            lambda a, k, b: f"({k} × ({a} + {b})) mod {m}",
            lambda a, k, b: f"(({b} + {a}) × {k}) mod {m}",
        )
        self.plus = Operation(
            lambda a, b: (a + b) % m,
            lambda a, b: f"({a} + {b}) mod {m}",
            lambda a, b: f"({b} + {a} + {m}) mod {m}",
        )
        self.minus = Operation(
            lambda a, b: (a - b) % m,
            lambda a, b: f"({a} - {b}) mod {m}",
            lambda a, b: f"({a} + {m} - {b}) mod {m}",
        )
        self.times = Operation(
            lambda a, b: a * b % m,
            lambda a, b: f"({a} × {b}) mod {m}",
            lambda a, b: f"({b} × {a}) mod {m}",
        )
        self.power = Operation(
            lambda a, e: pow(a, e, m),
            lambda a, e: f"({a}^{e}) mod {m}",
            lambda a, e: f"({a}^({e} - 1) × {a}) mod {m}",
        )
        self.inverse = Operation(lambda a: pow(a, -1, m), lambda a: f"({a}^(-1)) mod {m}")
        self.opposite = Operation(lambda a: -a % m, self.inverse.show)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a remainder from earlier ones for every node."""
    m = random.choice(PRIMES[difficulty])
    first = random.randrange(2, m - 1)
    modulo = _Modulo(m)
    known: list[Any] = [first]
    lines = [f"r1 = {first}"]
    sheet = NumberSheet(lambda value: type(value) is int and 0 < value < m, CODE_FRAMES)
    for number in range(2, size + 2):
        latest = len(known) - 1
        base = latest if random.random() < 0.6 else random.randrange(len(known))
        second = random.randrange(len(known))
        if second == base:
            second = base - 1
        code, operation, operands, slips = _line(
            random,
            m,
            modulo,
            (base, known[base], sheet.value(known[base])),
            (second, known[second]),
        )
        lines.append(f"r{number} = {code}")
        others = [ref for ref in known if isinstance(ref, Ref) and ref not in operands][-2:]
        ref = sheet.compute(f"r{number}", operation, operands, *slips, others=others)
        known.append(ref)
    return Problem(
        f"Here x mod {m} is the remainder, from 0 to {m - 1}, of x when it is divided by {m}, and "
        f"x^(-1) mod {m} is the number y from 1 to {m - 1} with (x × y) mod {m} = 1. Given "
        f"{', '.join(lines)}, find r{size + 1}.",
        sheet.nodes,
    )


def _line(
    random: Random, m: int, modulo: _Modulo, first: tuple[int, Any, int], second: tuple[int, Any]
) -> tuple[str, Operation, tuple[Any, ...], list[Slip]]:
    """Return the code of a line, its computation, and its own slips."""
    (base, a, value), (place, b) = first, second
    x, y = f"r{base + 1}", f"r{place + 1}"
    kinds = ["linear", "less", "factored", "power", "inverse"]
    kind = random.choice([*kinds, "plus", "minus", "times"] if place >= 0 else kinds[:4])
    given = (a, random.randrange(2, m - 1), random.randrange(2, m - 1))
    _, k, c = given
    if kind == "linear":
        slips = [
            Slip("overgeneralisation", modulo.factored, given),
            Slip("sign", modulo.less, given),
        ]
        return f"({k} × {x} + {c}) mod {m}", modulo.linear, given, slips
    if kind == "less":
        slips = [Slip("sign", modulo.linear, given)]
        return f"({k} × {x} - {c}) mod {m}", modulo.less, given, slips
    if kind == "factored":
        slips = [Slip("overgeneralisation", modulo.linear, given)]
        return f"({k} × ({x} + {c})) mod {m}", modulo.factored, given, slips
    if kind == "power" or (kind == "inverse" and value < 2):
        e = random.randrange(m + 2, 2 * m)
        return f"({x}^{e}) mod {m}", modulo.power, (a, e), []
    if kind == "inverse":
        slips = [Slip("overgeneralisation", modulo.opposite, (a,))]
        return f"({x}^(-1)) mod {m}", modulo.inverse, (a,), slips
    operation, sign, wrong = {
        "plus": (modulo.plus, "+", modulo.minus),
        "minus": (modulo.minus, "-", modulo.plus),
    }.get(kind, (modulo.times, "×", modulo.plus))
    slips = [Slip("wrong_operation", wrong, (a, b))]
    if kind == "minus":
        slips.append(Slip("swapped_roles", modulo.minus, (b, a)))
    return f"({x} {sign} {y}) mod {m}", operation, (a, b), slips
