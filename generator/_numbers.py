"""Arithmetic: operations, wordings, and the ways they go wrong."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from misstep.generator._graph import Fits, Operation, Ref, Slip, Slips, text_of

Number = int | Fraction

FRAMES = (
    "{Name}: {expr} = {value}.",
    "For {name} we get {expr} = {value}.",
    "{expr} = {value}, which is {name}.",
    "So {name}: {expr} = {value}.",
    "Now {name}, which comes to {expr} = {value}.",
    "We work out {name}: {expr} = {value}.",
)
"""Each states its equation in full, and names the quantity but not the operands."""

CODE_FRAMES = FRAMES[1:]
"""For names that have no capital."""


def exact(value: Number) -> Number:
    """An integer where the value is one."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def operand(value: Number) -> str:
    """A number inside an expression."""
    text = text_of(value)
    return f"({text})" if value < 0 else text


def _infix(sign: str) -> Callable[..., str]:
    return lambda *given: f" {sign} ".join(
        [text_of(given[0]), *(operand(value) for value in given[1:])]
    )


ADD = Operation(
    lambda a, b: exact(a + b),
    _infix("+"),
    lambda a, b: f"{text_of(a)} + {operand(b + 1)} - 1",
)
SUBTRACT = Operation(
    lambda a, b: exact(a - b),
    _infix("-"),
    lambda a, b: f"{text_of(a)} + 1 - {operand(b + 1)}",
)
MULTIPLY = Operation(
    lambda a, b: exact(a * b),
    _infix("×"),
    lambda a, b: f"{text_of(a)} × {operand(b - 1)} + {operand(a)}",
)
DIVIDE = Operation(
    lambda a, b: exact(Fraction(a) / b),
    _infix("÷"),
    lambda a, b: f"{text_of(a + b)} ÷ {operand(b)} - 1",
)
TOTAL = Operation(
    lambda *given: exact(sum(given)),
    _infix("+"),
    lambda *given: _infix("+")(*reversed(given)),
)

CONFUSED = {
    ADD: (SUBTRACT, MULTIPLY),
    SUBTRACT: (ADD,),
    MULTIPLY: (ADD,),
    DIVIDE: (SUBTRACT,),
}
"""Which operation is taken for which."""


def off_by(operation: Operation, by: Number) -> Operation:
    """The same operation, miscalculated."""
    return Operation(lambda *given: exact(operation.run(*given) + by), operation.show)


def misread(random: Random, number: Number) -> Number:
    """Another number that looks like it."""
    if isinstance(number, Fraction) and number.denominator > 1:
        return number + random.choice((-1, 1)) * Fraction(1, number.denominator)
    digits = str(abs(int(number)))
    sign = -1 if number < 0 else 1
    ways = [number + step for step in (1, -1, 2, -2) if (number + step) * sign > 1]
    if len(digits) > 1:
        ways += [number + step for step in (10, -10) if (number + step) * sign > 1]
        swapped = sign * int(digits[::-1])
        if digits[-1] != "0" and swapped != number:
            ways.append(swapped)
    return random.choice(ways)


def arithmetic_slips(
    operation: Operation, operands: Sequence[Any], others: Sequence[Any] = ()
) -> Slips:
    """The slips of plain arithmetic.

    Args:
        operation: The right operation.
        operands: Its operands; plain numbers are those that the problem gives.
        others: Quantities that may be taken for a node that is an operand.
    """

    def slips(random: Random) -> Iterator[Slip]:
        given = tuple(operands)
        yield Slip("off_by_one", off_by(operation, random.choice((-1, 1))), given)
        for other in CONFUSED.get(operation, ()):
            yield Slip("wrong_operation", other, given)
        for place, value in enumerate(given):
            before, after = given[:place], given[place + 1 :]
            if isinstance(value, int | Fraction):
                wrong = misread(random, value)
                yield Slip("misread", operation, (*before, wrong, *after))
            elif type(value) is Ref:
                for taken in others:
                    if taken not in given:
                        yield Slip("swapped_roles", operation, (*before, taken, *after))

    return slips


def dropped_term(operation: Operation, operands: Sequence[Any]) -> Slips:
    """A sum without one of its terms."""
    return lambda random: [
        Slip("dropped_case", operation, (*operands[:place], *operands[place + 1 :]))
        for place in range(len(operands))
    ]


def positive(limit: int) -> Fits:
    """Whether a value is a whole number from 1 to a limit."""
    return lambda value: type(value) is int and 1 <= value <= limit


def either(yes: Operation, no: Operation) -> Operation:
    """One operation where the first operand is greater than the third, else the other."""

    def chosen(a: Number, limit: Number) -> Operation:
        return yes if a > limit else no

    return Operation(
        lambda a, b, limit: chosen(a, limit).run(a, b),
        lambda a, b, limit: chosen(a, limit).show(a, b),
    )


def slips_of(*makers: Slips) -> Slips:
    """All slips of several kinds."""
    return lambda random: [slip for maker in makers for slip in maker(random)]


def slip(error_type: str, operation: Operation, operands: Sequence[Any]) -> Slips:
    """One slip."""
    return lambda random: (Slip(error_type, operation, tuple(operands)),)
