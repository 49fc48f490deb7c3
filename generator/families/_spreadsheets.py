"""A spreadsheet whose cells have units: sums, ranges and differences across units."""

from collections.abc import Sequence
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import MULTIPLY, NumberSheet, positive

ERROR_TYPES = "sign dropped_case misread unit off_by_one swapped_roles"
UNITS = (("kg", "g", 1000), ("m", "cm", 100), ("h", "min", 60), ("km", "m", 1000))
LARGE = {1: (2, 4), 2: (2, 9), 3: (3, 30)}
SMALL = 0.2
"""The share of amounts in the smaller unit that are as small as those in the larger one."""
CELLS = 6
"""The cells with given amounts."""


def _joined(factors: Sequence[int], sign: int = 1) -> Operation:
    """Return the sum, or the difference, of amounts in different units."""

    def term(value: int, factor: int) -> str:
        return str(value) if factor == 1 else f"{value} × {factor}"

    def run(*given: int) -> int:
        first, *rest = (value * factor for value, factor in zip(given, factors, strict=True))
        return first + sign * sum(rest)

    def show(*given: int) -> str:
        mark = " + " if sign > 0 else " - "
        return mark.join(map(term, given, factors))

    def odd(*given: int) -> str:
        return " + ".join(reversed(list(map(term, given, factors))))

    return Operation(run, show, odd if sign > 0 else None)


class _Sheet:
    """The given cells, their units, and the formulas."""

    def __init__(self, random: Random, difficulty: int) -> None:
        self.large, self.small, self.factor = random.choice(UNITS)
        low, high = LARGE[difficulty]
        self.sheet = NumberSheet(positive(400 * self.factor * high))
        self.names: list[str] = []
        self.cells: list[Any] = []
        self.factors: list[int] = []
        self.lines: list[str] = []
        for number in range(1, CELLS + 1):
            is_large = random.random() < 0.5
            amount = random.randrange(low, high)
            if not is_large and random.random() < SMALL:
                amount = random.randrange(2, 10)
            elif not is_large:
                amount = random.randrange(self.factor // 10, self.factor * high // 2)
            self.names.append(f"A{number}")
            self.cells.append(amount)
            self.factors.append(self.factor if is_large else 1)
            self.lines.append(f"A{number}: {amount} {self.large if is_large else self.small}")

    def formula(self, random: Random, number: int) -> None:
        """Add a formula, and the node of its cell."""
        latest = len(self.cells) - 1
        one = latest if random.random() < 0.5 else random.randrange(len(self.cells))
        two = random.choice([place for place in range(len(self.cells)) if place != one])
        kind = random.choice(("plus", "minus", "times", "range"))
        amounts = [
            self.sheet.value(self.cells[place]) * self.factors[place] for place in (one, two)
        ]
        if kind == "minus" and amounts[0] <= amounts[1]:
            kind = "plus"
        if kind == "times" and (self.factors[one] > 1 or amounts[0] > 20 * self.factor):
            kind = "range"
        if kind == "range":
            self._range(random, number)
        elif kind == "times":
            self._add(number, f"{self.names[one]} × {2 + two % 3}", *self._times(one, 2 + two % 3))
        else:
            sign = 1 if kind == "plus" else -1
            mark = "+" if sign > 0 else "-"
            code = f"{self.names[one]} {mark} {self.names[two]}"
            self._add(number, code, *self._two(one, two, sign))

    def _times(self, one: int, by: int) -> tuple[Operation, tuple[Any, ...], list[Slip]]:
        return MULTIPLY, (self.cells[one], by), []

    def _two(self, one: int, two: int, sign: int) -> tuple[Operation, tuple[Any, ...], list[Slip]]:
        operands = (self.cells[one], self.cells[two])
        factors = (self.factors[one], self.factors[two])
        slips = [
            Slip("sign", _joined(factors, -sign), operands),
            *self._units(factors, operands, sign),
        ]
        return _joined(factors, sign), operands, slips

    def _units(
        self, factors: Sequence[int], operands: tuple[Any, ...], sign: int = 1
    ) -> list[Slip]:
        """Return the slips that take a unit for another."""
        wrong = 60 if self.factor == 100 else 100
        slips = []
        for place, factor in enumerate(factors):
            if factor > 1:
                for other in (1, wrong):
                    changed = [*factors[:place], other, *factors[place + 1 :]]
                    slips.append(Slip("unit", _joined(changed, sign), operands))
        return slips

    def _range(self, random: Random, number: int) -> None:
        length = random.randrange(3, CELLS)
        begin = random.randrange(CELLS - length + 1)
        end = begin + length
        operands, factors = tuple(self.cells[begin:end]), self.factors[begin:end]
        slips = [
            Slip("dropped_case", _joined(factors[:-1]), operands[:-1]),
            Slip("dropped_case", _joined(factors[1:]), operands[1:]),
            *self._units(factors, operands),
        ]
        if end < CELLS:
            wider, more = tuple(self.cells[begin : end + 1]), self.factors[begin : end + 1]
            slips.append(Slip("off_by_one", _joined(more), wider))
        code = f"SUM({self.names[begin]}:{self.names[end - 1]})"
        self._add(number, code, _joined(factors), operands, slips)

    def _add(
        self,
        number: int,
        code: str,
        operation: Operation,
        operands: tuple[Any, ...],
        slips: Sequence[Slip],
    ) -> None:
        self.lines.append(f"B{number}: = {code}, in {self.small}")
        others = [cell for cell in self.cells if isinstance(cell, Ref)][-3:]
        name = f"cell B{number} in {self.small}"
        ref = self.sheet.compute(name, operation, operands, *slips, others=others)
        self.names.append(f"B{number}")
        self.cells.append(ref)
        self.factors.append(1)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make given cells in two units, and a formula in the smaller unit for every node."""
    made = _Sheet(random, difficulty)
    for number in range(1, size + 1):
        made.formula(random, number)
    listing = "\n".join(made.lines)
    return Problem(
        f"A spreadsheet has these cells, with amounts in {made.large} and in {made.small} "
        f"(1 {made.large} is {made.factor} {made.small}). SUM(A1:A3) is the sum of the cells from "
        f"A1 to A3, both included.\n{listing}\nWhat is B{size}, in {made.small}?",
        made.sheet.nodes,
    )
