"""A price that goes up and down by percentages and by amounts."""

from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Slip
from misstep.generator._numbers import FRAMES, Number, NumberSheet, exact

ERROR_TYPES = "sign misread off_by_one swapped_roles overgeneralisation"
PRICES = {1: (40, 200), 2: (100, 900), 3: (400, 9000)}
RATES = (5, 10, 15, 20, 25, 30, 40, 50, 60)
DECIMALS = 3


def decimal(value: Number) -> str:
    """Return a number with as many decimals as it has."""
    whole, rest = divmod(int(value * 10**DECIMALS), 10**DECIMALS)
    return f"{whole}.{rest:0{DECIMALS}}".rstrip("0").rstrip(".")


PERCENT = Operation(
    lambda price, rate: exact(Fraction(price) * rate / 100),
    lambda price, rate: f"{decimal(price)} × {rate} ÷ 100",
    lambda price, rate: f"{decimal(price)} ÷ 100 × {rate}",
)
UP = Operation(
    lambda price, by: exact(price + by),
    lambda price, by: f"{decimal(price)} + {decimal(by)}",
    lambda price, by: f"{decimal(price)} + ({decimal(by)} + 1) - 1",
)
DOWN = Operation(
    lambda price, by: exact(price - by),
    lambda price, by: f"{decimal(price)} - {decimal(by)}",
    lambda price, by: f"({decimal(price)} + 1) - ({decimal(by)} + 1)",
)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make two nodes for a change by a percentage, one for a change by an amount."""
    low, high = PRICES[difficulty]

    def fits(value: Any) -> bool:  # noqa: ANN401
        return bool(1 <= value <= 5 * high and 10**DECIMALS % Fraction(value).denominator == 0)

    start = random.randrange(low, high)
    prices: list[Any] = [start]
    sentences = [f"A price is {start}."]
    sheet = NumberSheet(fits, FRAMES, decimal)
    while len(sheet) < size:
        number = len(sentences)
        price = prices[-1]
        now = Fraction(sheet.value(price))
        rate, amount = random.choice(RATES), random.randrange(low // 8, low // 2)
        up = random.random() < 0.5 if now < 2 * high and now > amount + 5 else now <= amount + 5
        way = "up" if up else "down"
        by_rate = (
            size - len(sheet) > 1
            and 100 % (now * rate / 100).denominator == 0
            and random.random() < 0.8
        )
        change = (
            f"{way} by {rate}% of its value just before this change"
            if by_rate
            else f"{way} by {amount}"
        )
        sentences.append(f"Change {number}: it goes {change}.")
        by: Any = amount
        if by_rate:
            by = sheet.compute(
                f"the amount of change {number}",
                PERCENT,
                (price, rate),
                Slip("overgeneralisation", PERCENT, (start, rate)),
                Slip("swapped_roles", PERCENT, (prices[-2:][0], rate)),
            )
        operation, other = (UP, DOWN) if up else (DOWN, UP)
        name = f"the price after change {number}"
        prices.append(sheet.compute(name, operation, (price, by), Slip("sign", other, (price, by))))
    sentences.append("What is the price at the end?")
    return Problem(" ".join(sentences), sheet.nodes)
