"""A price that goes up and down by percentages and plain amounts."""

from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Fits, Operation, Problem, Ref
from misstep.generator._numbers import (
    FRAMES,
    Number,
    arithmetic_slips,
    exact,
    slip,
    slips_of,
)
from misstep.generator._sheet import Sheet

ERROR_TYPES = ("sign", "misread", "off_by_one", "swapped_roles", "overgeneralisation")
PRICES = {1: (40, 200), 2: (100, 900), 3: (400, 9000)}
RATES = (5, 10, 15, 20, 25, 30, 40, 50, 60)
PLACES = 3
"""After the decimal point, at most."""


def decimal(value: Number) -> str:
    """A number with as many decimals as it has."""
    whole, rest = divmod(int(value * 10**PLACES), 10**PLACES)
    return f"{whole}.{rest:0{PLACES}}".rstrip("0").rstrip(".")


PERCENT = Operation(
    lambda price, rate: exact(Fraction(price) * rate / 100),
    lambda price, rate: f"{decimal(price)} × {rate} ÷ 100",
    lambda price, rate: f"{decimal(price)} ÷ 100 × {rate}",
)
UP = Operation(
    lambda price, by: exact(price + by),
    lambda price, by: f"{decimal(price)} + {decimal(by)}",
    lambda price, by: f"{decimal(price)} + {decimal(by + 1)} - 1",
)
DOWN = Operation(
    lambda price, by: exact(price - by),
    lambda price, by: f"{decimal(price)} - {decimal(by)}",
    lambda price, by: f"{decimal(price)} + 1 - {decimal(by + 1)}",
)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Two nodes for a change by a percentage, one for a change by an amount."""
    low, high = PRICES[difficulty]

    def fits(value: Any) -> bool:  # noqa: ANN401
        return bool(1 <= value <= 5 * high and 10**PLACES % Fraction(value).denominator == 0)

    start = random.randrange(low, high)
    price: Any = start
    earlier: list[Any] = []
    sentences = [f"A price is {start}."]
    sheet = Sheet()
    while len(sheet) < size:
        number = len(sentences)
        now = Fraction(sheet.value(price))
        rate, amount = random.choice(RATES), random.randrange(low // 8, low // 2)
        up = random.random() < 0.5 if now < 2 * high and now > amount + 5 else now <= amount + 5
        way = "up" if up else "down"
        by_rate = (
            size - len(sheet) > 1
            and 100 % (now * rate / 100).denominator == 0
            and random.random() < 0.8
        )
        told = f"{way} by {rate}% of what it is then" if by_rate else f"{way} by {amount}"
        sentences.append(f"Change {number}: it goes {told}.")
        earlier.append(price)
        price = _change(sheet, number, earlier, rate if by_rate else None, amount, up, fits)
    sentences.append("What is the price at the end?")
    return sheet.problem(" ".join(sentences))


def _change(
    sheet: Sheet,
    number: int,
    prices: list[Any],
    rate: int | None,
    amount: int,
    up: bool,
    fits: Fits,
) -> Ref:
    """The nodes of a change; the last of them is the new price."""
    price = prices[-1]
    by: Any = amount
    if rate is not None:
        operands = (price, rate)
        slips = slips_of(
            arithmetic_slips(PERCENT, operands),
            slip("overgeneralisation", PERCENT, (prices[0], rate)),
            slip("swapped_roles", PERCENT, (prices[-2:][0], rate)),
        )
        name = f"the amount of change {number}"
        by = sheet.add(name, PERCENT, operands, FRAMES, slips, fits, decimal)
    operation, other = (UP, DOWN) if up else (DOWN, UP)
    operands = (price, by)
    slips = slips_of(arithmetic_slips(operation, operands), slip("sign", other, operands))
    name = f"the price after change {number}"
    return sheet.add(name, operation, operands, FRAMES, slips, fits, decimal)
