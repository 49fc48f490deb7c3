"""A solution as a graph of computed quantities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple


class Ref(NamedTuple):
    """An operand that an earlier node computes."""

    node: int


@dataclass(frozen=True, slots=True)
class Operation:
    """What is done with operands, and how that is written."""

    run: Callable[..., Any]
    show: Callable[..., str]
    odd: Callable[..., str] | None = None
    """An unusual way of writing the same, just as right: what decoys are made of."""


@dataclass(frozen=True, slots=True)
class Slip:
    """One way to get a node wrong."""

    error_type: str
    operation: Operation
    operands: tuple[Any, ...]


Slips = Callable[[Random], Iterable[Slip]]
Fits = Callable[[Any], bool]


def no_slips(random: Random) -> Iterable[Slip]:
    """For a node that nobody gets wrong."""
    return ()


def anything(value: object) -> bool:
    """For a node whose value needs no limits."""
    return True


def text_of(value: object) -> str:
    """A value as steps write it."""
    if isinstance(value, Fraction):
        return (
            f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(int(value))
        )
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


@dataclass(frozen=True, slots=True)
class Node:
    """A quantity: how it is computed, how a step says so, and how it can go wrong."""

    name: str
    operation: Operation
    operands: tuple[Any, ...]
    """Plain values, which the problem gives, and Refs."""
    frames: Sequence[str]
    """Wordings, with {name}, {Name}, {expr} and {value}."""
    slips: Slips = no_slips
    fits: Fits = anything
    """Whether a value is of the kind and size that right solutions have."""
    text: Callable[[Any], str] = text_of

    def say(self, frame: str, operation: Operation, given: Sequence[Any], value: object) -> str:
        """The sentence for a computation of this node."""
        return self._fill(frame, operation.show(*given), value)

    def say_oddly(self, frame: str, given: Sequence[Any], value: object) -> str:
        """The same sentence with the unusual way of writing."""
        show = self.operation.odd or self.operation.show
        return self._fill(frame, show(*given), value)

    def _fill(self, frame: str, expr: str, value: object) -> str:
        name = self.name
        capital = name[:1].upper() + name[1:]
        return frame.format(name=name, Name=capital, expr=expr, value=self.text(value))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and the graph of its solution; the last node is the answer."""

    text: str
    nodes: Sequence[Node]


class DeadEndError(Exception):
    """A draw that leads nowhere; another is made."""


def operands_of(operands: Iterable[Any], values: Sequence[Any]) -> list[Any]:
    """The operands with the nodes' values in place of the references."""
    return [values[item.node] if type(item) is Ref else item for item in operands]


def evaluate(
    nodes: Sequence[Node], slips: Mapping[int, Slip], forced: Mapping[int, Any]
) -> list[Any]:
    """The value of every node, computed in order.

    Args:
        nodes: The graph.
        slips: What goes wrong, by node; whatever depends on it follows.
        forced: Values that are written down whatever the computation gives, by node.

    Raises:
        DeadEndError: A value is not of the kind that right solutions have.
    """
    values: list[Any] = []
    for index, node in enumerate(nodes):
        slip = slips.get(index)
        if index in forced:
            value = forced[index]
        else:
            doing = node if slip is None else slip
            try:
                value = doing.operation.run(*operands_of(doing.operands, values))
            except (ArithmeticError, LookupError, ValueError):
                raise DeadEndError from None
        if not node.fits(value):
            raise DeadEndError
        values.append(value)
    return values
