"""What the ends of offline solutions are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from misstep.generator import Operation, Ref, Sheet, Slip

ERROR_NODE = 2
"""Where in a tail the error is made."""

NodeOf = tuple[Operation, tuple[Any, ...]]
"""A computation and its operands."""


@dataclass(frozen=True)
class Tail:
    """The question that is added, the nodes that answer it, and the error."""

    question: str
    sheet: Sheet
    slip: Slip
    flaw: str
    """Why the reasoning does not hold."""


def step(run: Callable[..., Any], text: str) -> Operation:
    """A computation and its sentence, in which {0}, {1} … are the operands and {r} the result."""
    return Operation(run, lambda *given: text.format(*given, r=run(*given)))


def tail(question: str, nodes: list[NodeOf], slip: Slip, flaw: str) -> Tail:
    """Put a tail together."""
    sheet = Sheet()
    for operation, operands in nodes:
        sheet.add("", operation, operands, ("{expr}",))
    return Tail(question, sheet, slip, flaw)


ENDINGS = (1, 2, 3)
"""How many last steps there may be, so that errors stand at various distances from the end."""

_ASKED = "The value that was asked for is "
_BOXED = "$\\boxed{{{r}}}$."


def answer(times: int, extra: int, endings: int) -> list[NodeOf]:
    """The last steps."""
    multiplied = step(lambda a, b: a * b, "We multiply: {0} × {1} = {r}."), (Ref(3), times)
    if endings == 1:
        said = f"{_ASKED}{{0}} × {{1}} + {{2}}, which is {_BOXED}"
        return [(step(lambda a, b, c: a * b + c, said), (Ref(3), times, extra))]
    if endings == 2:
        said = f"{_ASKED}{{0}} + {{1}}, which is {_BOXED}"
        return [multiplied, (step(lambda a, b: a + b, said), (Ref(4), extra))]
    added = step(lambda a, b: a + b, "We add: {0} + {1} = {r}."), (Ref(4), extra)
    return [multiplied, added, (step(lambda a: a, _ASKED + _BOXED), (Ref(5),))]
