"""Sequences given by a recurrence: terms, running sums, and a formula proved by induction."""

from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Slip
from misstep.generator._numbers import ADD, FRAMES, NumberSheet

ERROR_TYPES = "sign misread off_by_one swapped_roles overgeneralisation missing_base"
LATE = "overgeneralisation missing_base"
SIZES = {1: (1, 4), 2: (2, 9), 3: (5, 40)}
LIMITS = {1: 10**5, 2: 10**6, 3: 10**7}
PROOFS = (
    "{Name}: {expr}",
    "Now {name}: {expr}",
    "We turn to {name}: {expr}",
    "Next comes {name}: {expr}",
    "We prove {name}: {expr}",
)


def _rule(sign: int) -> Operation:
    """Return the next term: the last one plus or minus the one before, and a multiple of n."""
    mark = "+" if sign > 0 else "-"
    return Operation(
        lambda last, before, factor, n: last + sign * before + factor * n,
        lambda last, before, factor, n: f"{last} {mark} {before} + {factor} × {n}",
        lambda last, before, factor, n: f"{factor} × {n} + {last} {mark} {before}",
    )


RULES = {1: _rule(1), -1: _rule(-1)}
FORMULA = Operation(
    lambda a, k, n, b: a * k ** (n - 1) - b,
    lambda a, k, n, b: f"{a} × {k}^({n} - 1) - {b}",
    lambda a, k, n, b: f"{a} × {k}^({n} - 2) × {k} - {b}",
)


def _induction(a: int, k: int, b: int, base: int, start: int) -> Operation:
    """Return the proof that v(n) = a × k^(n - 1) - b from a base on, claimed from a start on."""
    value, added = a * k ** (base - 1) - b, b * (k - 1)

    def show() -> str:
        return (
            f"the formula v(n) = {a} × {k}^(n - 1) - {b} gives {value} for n = {base}, which is "
            f"v({base}). If it holds for n = j with j ≥ {base}, then v(j + 1) = {k} × v(j) + "
            f"{added} = {a} × {k}^j - {b}, so it holds for n = j + 1. By induction, it holds for "
            f"every whole n ≥ {start}."
        )

    return Operation(lambda: start >= base, show)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make terms and running sums, the proof, a value of the formula, and the final sum."""
    low, high = SIZES[difficulty]
    limit = LIMITS[difficulty]
    sheet = NumberSheet(lambda value: type(value) is int and 1 <= value <= limit, FRAMES[1:])
    first, second = random.randrange(low, high), random.randrange(high, 2 * high)
    factor, sign = random.randrange(2, 3 + low), random.choice((1, -1))
    rule = RULES[sign]
    terms: list[Any] = [first, second]
    total: Any = None
    last, asked = total, ""
    while len(sheet) < size - 3:
        n = len(terms)
        if last is None or last is total or n < 4:
            operands = (terms[-1], terms[-2], factor, n)
            slips = [
                Slip("sign", RULES[-sign], operands),
                Slip("off_by_one", rule, (*operands[:3], n + 1)),
                Slip("swapped_roles", rule, (terms[-2], terms[-1], factor, n)),
            ]
            asked = f"u({n + 1})"
            last = sheet.compute(asked, rule, operands, *slips)
            terms.append(last)
            total = total or last
        else:
            asked = f"the sum of u(3) to u({n})"
            total = sheet.compute(asked, ADD, (total, last), others=terms[-2:-1])
            last = total
    k, b = random.randrange(2, 4), random.randrange(2, 3 + high // 2)
    a = random.randrange(2, 3 + low) + b
    base = random.randrange(1, 4)
    proof = _induction(a, k, b, base, base + random.randrange(2))
    wrong = [Slip("missing_base", _induction(a, k, b, base, base - 1), ())] if base > 1 else []
    sheet.add("a formula for v(n)", proof, (), PROOFS, wrong)
    n = random.randrange(4, 7)
    operands = (a, k, n, b)
    late = Slip("overgeneralisation", FORMULA, (a, k, n + 1, b))
    value = sheet.compute(f"v({n})", FORMULA, operands, late)
    sheet.compute("the final sum", ADD, (last, value), others=terms[2:-1][-1:])
    mark = "+" if sign > 0 else "-"
    return Problem(
        f"The sequence u has u(1) = {first}, u(2) = {second}, and for every whole n ≥ 2, "
        f"u(n + 1) = u(n) {mark} u(n - 1) + {factor} × n. The sequence v has v(1) = {a - b}, and "
        f"for every whole n ≥ 1, v(n + 1) = {k} × v(n) + {b * (k - 1)}. Find the final sum, which "
        f"is {asked} plus v({n}).",
        sheet.nodes,
    )
