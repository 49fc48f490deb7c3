"""Counting by cases: choices, numbered ranges, pairs; with subtotals."""

from random import Random

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import TOTAL, NumberSheet, dropped_terms, positive

ERROR_TYPES = "dropped_case misread off_by_one overgeneralisation condition sign swapped_roles"
LATE = "dropped_case swapped_roles"
SIZES = {1: (3, 8), 2: (4, 14), 3: (8, 30)}

PRODUCT = Operation(
    lambda a, b: a * b, lambda a, b: f"{a} × {b}", lambda a, b: f"{a} × ({b} - 1) + {a}"
)
PRODUCT_LESS = Operation(
    lambda a, b, c: a * b - c,
    lambda a, b, c: f"{a} × {b} - {c}",
    lambda a, b, c: f"{b} × {a} - {c}",
)
PRODUCT_MORE = Operation(
    lambda a, b, c: a * b + c,
    lambda a, b, c: f"{a} × {b} + {c}",
    lambda a, b, c: f"{b} × {a} + {c}",
)
RANGE = Operation(
    lambda a, b: b - a + 1, lambda a, b: f"{b} - {a} + 1", lambda a, b: f"({b} + 1) - {a}"
)
RANGE_SHORT = Operation(
    lambda a, b: b - a, lambda a, b: f"{b} - {a}", lambda a, b: f"({b} + 1) - ({a} + 1)"
)
PAIRS = Operation(
    lambda a: a * (a - 1) // 2, lambda a: f"{a} × ({a} - 1) ÷ 2", lambda a: f"({a} - 1) × {a} ÷ 2"
)
ORDERED = Operation(
    lambda a: a * (a - 1), lambda a: f"{a} × ({a} - 1)", lambda a: f"({a} - 1) × {a}"
)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make cases, a subtotal after some of them, and the total of the subtotals."""
    sheet = NumberSheet(positive(60 * SIZES[difficulty][1] ** 2))
    sentences = [
        "Tickets are printed in batches, called cases; no ticket belongs to two cases. "
        "The size of a case is the number of its tickets without those that are torn up."
    ]
    # Each subtotal is a node too: cases, subtotals and the total add up to the size.
    groups = max(1, (size - 1) // 4)
    cases = size - 1 - groups
    if groups == 1:
        groups, cases = 0, size - 1
    sums: list[Ref] = []
    subtotals: list[str] = []
    open_cases: list[Ref] = []
    for number in range(1, cases + 1):
        sentence, operation, operands, slip = _case(random, SIZES[difficulty])
        sentences.append(f"Case {number}: {sentence}.")
        open_cases.append(sheet.compute(f"the size of case {number}", operation, operands, slip))
        left = groups - len(sums)
        if groups and number >= round((len(sums) + 1) * cases / groups) and left:
            name = f"subtotal {len(sums) + 1}"
            subtotals.append(f"S{name[1:]}: cases {number + 1 - len(open_cases)} to {number}.")
            dropped = dropped_terms(open_cases)
            sums.append(sheet.compute(name, TOTAL, open_cases, *dropped, others=sums[-1:]))
            open_cases = []
    terms = sums or open_cases
    twice = [
        Slip("swapped_roles", TOTAL, (*terms[:place], terms[place - 1], *terms[place + 1 :]))
        for place in range(len(terms))
    ]
    sheet.compute("the total", TOTAL, terms, *dropped_terms(terms), *twice)
    sentences += [*subtotals, "How many tickets are there in all, without those that are torn up?"]
    return Problem(" ".join(sentences), sheet.nodes)


def _case(random: Random, sizes: tuple[int, int]) -> tuple[str, Operation, tuple[int, ...], Slip]:
    """Return the text of a case, its computation, and its own slip."""
    a, b = random.randrange(*sizes), random.randrange(*sizes)
    kind = random.choice(("product", "less", "more", "range", "after", "pairs", "ordered"))
    all_seats = f"one ticket for every seat in {a} rows of {b} seats each"
    c = random.randrange(2, 2 + sizes[0])
    if kind == "product":
        return all_seats, PRODUCT, (a, b), Slip("overgeneralisation", PRODUCT, (a, a))
    if kind == "less":
        text = f"{all_seats}, less {c} that are torn up"
        wrong = random.choice((("condition", PRODUCT, (a, b)), ("sign", PRODUCT_MORE, (a, b, c))))
        return text, PRODUCT_LESS, (a, b, c), Slip(*wrong)
    if kind == "more":
        text = f"{all_seats}, and {c} more for standing room"
        wrong = random.choice((("condition", PRODUCT, (a, b)), ("sign", PRODUCT_LESS, (a, b, c))))
        return text, PRODUCT_MORE, (a, b, c), Slip(*wrong)
    if kind == "after":
        low = random.randrange(10, 60)
        ends = (low, low + a + b)
        text = f"one ticket for every whole number that is greater than {low} and at most {ends[1]}"
        return text, RANGE_SHORT, ends, Slip("off_by_one", RANGE, ends)
    if kind == "ordered":
        text = f"one ticket for every choice of a first and a second, different person out of {a}"
        return text, ORDERED, (a,), Slip("overgeneralisation", PAIRS, (a,))
    if kind == "range":
        low = random.randrange(10, 60)
        ends = (low, low + a + b)
        text = f"one ticket for every whole number from {low} to {ends[1]}, both included"
        return text, RANGE, ends, Slip("off_by_one", RANGE_SHORT, ends)
    text = f"one ticket for every pair of people from a group of {a}, in any order"
    return text, PAIRS, (a,), Slip("overgeneralisation", ORDERED, (a,))
