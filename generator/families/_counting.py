"""Counting by cases: choices, numbered ranges, pairs; with subtotals."""

from random import Random

from misstep.generator._graph import Fits, Operation, Problem, Ref
from misstep.generator._numbers import (
    FRAMES,
    TOTAL,
    arithmetic_slips,
    dropped_term,
    positive,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = (
    "dropped_case",
    "misread",
    "off_by_one",
    "overgeneralisation",
    "condition",
    "wrong_operation",
    "swapped_roles",
)
LATE = ("dropped_case", "swapped_roles")
SIZES = {1: (3, 8), 2: (4, 14), 3: (8, 30)}

PRODUCT = Operation(
    lambda a, b: a * b, lambda a, b: f"{a} × {b}", lambda a, b: f"{a} × {b - 1} + {a}"
)
PRODUCT_LESS = Operation(
    lambda a, b, c: a * b - c,
    lambda a, b, c: f"{a} × {b} - {c}",
    lambda a, b, c: f"{b} × {a} - {c}",
)
PLUS = Operation(lambda a, b: a + b, lambda a, b: f"{a} + {b}")
RANGE = Operation(
    lambda a, b: b - a + 1, lambda a, b: f"{b} - {a} + 1", lambda a, b: f"{b + 1} - {a}"
)
RANGE_SHORT = Operation(lambda a, b: b - a, lambda a, b: f"{b} - {a}")
PAIRS = Operation(
    lambda a: a * (a - 1) // 2,
    lambda a: f"{a} × {a - 1} ÷ 2",
    lambda a: f"{a - 1} × {a} ÷ 2",
)
ORDERED = Operation(lambda a: a * (a - 1), lambda a: f"{a} × {a - 1}")


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Cases, a subtotal after some of them, and the total of the subtotals."""
    sheet = Sheet()
    sentences: list[str] = []
    fits = positive(60 * SIZES[difficulty][1] ** 2)
    # Every subtotal is a node too: cases, subtotals and the total make up the size.
    groups = max(1, (size - 1) // 4)
    cases = size - 1 - groups
    if groups == 1:
        groups, cases = 0, size - 1
    sums: list[Ref] = []
    told: list[str] = []
    open_cases: list[Ref] = []
    for number in range(1, cases + 1):
        open_cases.append(_case(random, sheet, sentences, number, SIZES[difficulty], fits))
        left = groups - len(sums)
        if groups and number >= round((len(sums) + 1) * cases / groups) and left:
            name = f"subtotal {len(sums) + 1}"
            told.append(f"S{name[1:]}: cases {number + 1 - len(open_cases)} to {number}.")
            sums.append(_sum(sheet, name, open_cases, sums, fits))
            open_cases = []
    _sum(sheet, "the total", sums or open_cases, [], fits)
    sentences += [*told, "How many tickets are there in all?"]
    return sheet.problem(" ".join(["Tickets are made in cases.", *sentences]))


def _sum(sheet: Sheet, name: str, terms: list[Ref], others: list[Ref], fits: Fits) -> Ref:
    slips = slips_of(arithmetic_slips(TOTAL, terms, others[-1:]), dropped_term(TOTAL, terms))
    return sheet.add(name, TOTAL, terms, FRAMES, slips, fits)


def _case(
    random: Random,
    sheet: Sheet,
    sentences: list[str],
    number: int,
    sizes: tuple[int, int],
    fits: Fits,
) -> Ref:
    """One case: the sentence that tells it and the node that counts it."""
    a, b = random.randrange(*sizes), random.randrange(*sizes)
    operands: tuple[int, ...]
    kind = random.choice(("product", "less", "range", "pairs"))
    if kind == "product":
        told = f"every one of {a} rows goes with every one of {b} seats"
        operation, operands = PRODUCT, (a, b)
        slips = slip("wrong_operation", PLUS, operands)
    elif kind == "less":
        c = random.randrange(1, 1 + sizes[0])
        all_of = f"every one of {a} rows goes with every one of {b} seats"
        told = f"{all_of}, but {c} of these tickets are void"
        operation, operands = PRODUCT_LESS, (a, b, c)
        slips = slip("condition", PRODUCT, (a, b))
    elif kind == "range":
        low = random.randrange(10, 60)
        high = low + a + b
        told = f"the numbers from {low} to {high}, both included"
        operation, operands = RANGE, (low, high)
        slips = slip("off_by_one", RANGE_SHORT, operands)
    else:
        told = f"every pair out of {a} people, in no order"
        operation, operands = PAIRS, (a,)
        slips = slip("overgeneralisation", ORDERED, operands)
    sentences.append(f"Case {number}: {told}.")
    usual = arithmetic_slips(operation, operands)
    return sheet.add(f"case {number}", operation, operands, FRAMES, slips_of(usual, slips), fits)
