"""Arithmetic: operations, wordings, and the ways they go wrong."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Fits, Operation, Ref, Sheet, Slip, text_of

Number = int | Fraction

FRAMES = (
    "{Name}: {expr} = {value}.",
    "For {name} we get {expr} = {value}.",
    "{expr} = {value}, which gives {name}.",
    "So for {name}: {expr} = {value}.",
    "Now {name}: {expr} = {value}.",
    "We work out {name}: {expr} = {value}.",
    "To find {name}, we compute {expr} = {value}.",
)
"""Each states its equation in full. It names the quantity but not the operands."""

CODE_FRAMES = FRAMES[1:]
"""For names that must not start with a capital letter."""


def exact(value: Number) -> Number:
    """Return an integer if the value is one."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _operand(value: Number) -> str:
    text = text_of(value)
    return f"({text})" if value < 0 else text


def _infix(sign: str) -> Callable[..., str]:
    return lambda *given: f" {sign} ".join([text_of(given[0]), *map(_operand, given[1:])])


ADD = Operation(
    lambda a, b: exact(a + b), _infix("+"), lambda a, b: f"{text_of(a)} + ({text_of(b)} + 1) - 1"
)
SUBTRACT = Operation(
    lambda a, b: exact(a - b), _infix("-"), lambda a, b: f"({text_of(a)} + 1) - ({text_of(b)} + 1)"
)
MULTIPLY = Operation(
    lambda a, b: exact(a * b),
    _infix("×"),
    lambda a, b: f"{text_of(a)} × ({text_of(b)} - 1) + {_operand(a)}",
)
DIVIDE = Operation(
    lambda a, b: exact(Fraction(a) / b),
    _infix("÷"),
    lambda a, b: f"({text_of(a)} + {_operand(b)}) ÷ {_operand(b)} - 1",
)
TOTAL = Operation(
    lambda *given: exact(sum(given)), _infix("+"), lambda *given: _infix("+")(*reversed(given))
)

_CONFUSED = {ADD: SUBTRACT, SUBTRACT: ADD, MULTIPLY: ADD}
"""The operations that are mistaken for each other, where right steps have both."""


def misread(random: Random, number: Number) -> Number:
    """Return another number that looks similar."""
    if isinstance(number, Fraction) and number.denominator > 1:
        near = [number + step * Fraction(1, number.denominator) for step in (-1, 1)]
        # In a product, 0 or 1 stands out.
        other = [value for value in near if abs(value) not in (0, 1)]
        return random.choice(other or [Fraction(number.numerator, number.denominator + 1)])
    digits = str(abs(int(number)))
    sign = -1 if number < 0 else 1
    steps = (1, -1, 2, -2, 10, -10) if len(digits) > 1 else (1, -1, 2, -2)
    ways = [number + step for step in steps if (number + step) * sign > 1]
    swapped = sign * int(digits[::-1])
    if len(digits) > 1 and digits[-1] != "0" and swapped != number:
        ways.append(swapped)
    return random.choice(ways)


def positive(limit: int) -> Fits:
    """Return a test for whole numbers from 1 to a limit."""
    return lambda value: type(value) is int and 1 <= value <= limit


def dropped_terms(operands: Sequence[Any]) -> list[Slip]:
    """Return the slips of a sum without one of its terms.

    A sum of two has none: "116 = 116" would give the error away.
    """
    return [
        Slip("dropped_case", TOTAL, (*operands[:place], *operands[place + 1 :]))
        for place in range(len(operands))
        if len(operands) > 2
    ]


class NumberSheet(Sheet):
    """A sheet of arithmetic. Its nodes share limits and wordings."""

    def __init__(
        self, fits: Fits, frames: Sequence[str] = FRAMES, text: Callable[[Any], str] = text_of
    ) -> None:
        super().__init__()
        self._fits = fits
        self._frames = frames
        self._text = text

    def compute(
        self,
        name: str,
        operation: Operation,
        operands: Sequence[Any],
        *more: Slip,
        others: Sequence[Any] = (),
        fits: Fits | None = None,
        confused: bool = False,
    ) -> Ref:
        """Append a node with the usual slips of arithmetic.

        `confused` nodes can also take one operation for another. Wrong steps then must look like
        right ones: the other operation is right for other nodes of the same kind.
        """
        if confused and operation in _CONFUSED:
            more = (*more, Slip("wrong_operation", _CONFUSED[operation], tuple(operands)))

        slips = NumberSlips(operation, operands, more, others)
        return self.add(
            name, operation, operands, self._frames, slips, fits or self._fits, self._text
        )


class NumberSlips:
    """The usual slips of arithmetic, and more."""

    __slots__ = ("more", "operands", "operation", "others")

    def __init__(
        self,
        operation: Operation,
        operands: Sequence[Any],
        more: Sequence[Slip],
        others: Sequence[Any] = (),
    ) -> None:
        self.operation = operation
        self.operands = tuple(operands)
        self.more = more
        self.others = others

    def __call__(self, random: Random) -> Iterator[Slip]:
        yield from _usual_slips(random, self.operation, self.operands, self.others)
        yield from self.more


def _usual_slips(
    random: Random, operation: Operation, operands: tuple[Any, ...], others: Sequence[Any]
) -> Iterator[Slip]:
    by = random.choice((-1, 1))
    off = Operation(lambda *given: exact(operation.run(*given) + by), operation.show)
    yield Slip("off_by_one", off, operands)
    for place, value in enumerate(operands):
        before, after = operands[:place], operands[place + 1 :]
        if isinstance(value, int | Fraction):
            wrong = misread(random, value)
            yield Slip("misread", operation, (*before, wrong, *after))
        elif type(value) is Ref:
            for taken in others:
                if taken not in operands:
                    yield Slip("swapped_roles", operation, (*before, taken, *after))
