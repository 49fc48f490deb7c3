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
    """A computation, and how it is written."""

    run: Callable[..., Any]
    show: Callable[..., str]
    odd: Callable[..., str] | None = None
    """An unusual but correct way to write it, for decoys."""


@dataclass(frozen=True, slots=True)
class Slip:
    """One way to get a node wrong."""

    error_type: str
    operation: Operation
    operands: tuple[Any, ...]


Slips = Callable[[Random], Iterable[Slip]]
Fits = Callable[[Any], bool]


def words(text: str) -> list[str]:
    """Return the words of a text, for long lists of names."""
    return text.split()


def text_of(value: object) -> str:
    """Return a value as steps write it."""
    if isinstance(value, Fraction):
        return (
            f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(int(value))
        )
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


@dataclass(frozen=True, slots=True)
class Node:
    """A quantity: how it is computed, how a step states it, and how it can go wrong."""

    name: str
    operation: Operation
    operands: tuple[Any, ...]
    """Refs, and plain values that the problem gives."""
    frames: Sequence[str]
    """Wordings with {name}, {Name}, {expr} and {value}."""
    slips: Slips
    fits: Fits
    """Whether a value has the kind and size of values in right solutions."""
    text: Callable[[Any], str]
    part: int = 0
    """The part of a long problem that it belongs to; 0 for none."""
    remark: bool = False
    """Whether it is a remark, on which nothing depends."""

    def say(self, frame: str, operation: Operation, given: Sequence[Any], value: object) -> str:
        """Return the sentence for a computation of this node."""
        return self._fill(frame, operation.show(*given), value)

    def say_oddly(
        self, frame: str, operation: Operation, given: Sequence[Any], value: object
    ) -> str:
        """Return the same sentence with the unusual way of writing."""
        show = operation.odd or operation.show
        return self._fill(frame, show(*given), value)

    def _fill(self, frame: str, expr: str, value: object) -> str:
        capital = self.name[:1].upper() + self.name[1:]
        return frame.format(name=self.name, Name=capital, expr=expr, value=self.text(value))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and the graph of its solution. The last node is the answer."""

    text: str
    nodes: Sequence[Node]


Build = Callable[[Random, int, int], Problem]
"""Makes a problem with a number of nodes at a difficulty."""


class DeadEndError(Exception):
    """A random draw that gives no usable problem. Another draw is made."""


def operands_of(operands: Iterable[Any], values: Sequence[Any]) -> list[Any]:
    """Return the operands with values in place of references."""
    return [values[item.node] if type(item) is Ref else item for item in operands]


def evaluate(
    nodes: Sequence[Node],
    slips: Mapping[int, Slip],
    forced: Mapping[int, Any],
    known: Sequence[Any] = (),
) -> list[Any]:
    """Return the value of every node. All values that depend on a slip follow from it.

    `known` are values of the first nodes that need no evaluation.
    """
    values = list(known)
    for index in range(len(values), len(nodes)):
        node = nodes[index]
        if index in forced:
            value = forced[index]
            if not node.fits(value):
                raise DeadEndError
        else:
            value = value_of(node, slips.get(index, node), values)
        values.append(value)
    return values


def value_of(node: Node, computed: Node | Slip, values: Sequence[Any]) -> Any:  # noqa: ANN401
    """Return the value of a node, computed as it is or with a slip."""
    given = [values[item.node] if type(item) is Ref else item for item in computed.operands]
    try:
        value = computed.operation.run(*given)
    except (ArithmeticError, LookupError, ValueError):
        raise DeadEndError from None
    if not node.fits(value):
        raise DeadEndError
    return value


class _ListedSlips:
    """Slips that need no draw."""

    __slots__ = ("slips",)

    def __init__(self, slips: Sequence[Slip]) -> None:
        self.slips = slips

    def __call__(self, random: Random) -> Sequence[Slip]:
        return self.slips


class Sheet:
    """A graph in the making: its nodes so far and their right values."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: list[Any] = []

    def __len__(self) -> int:
        return len(self.nodes)

    def add(
        self,
        name: str,
        operation: Operation,
        operands: Sequence[Any],
        frames: Sequence[str],
        slips: Slips | Sequence[Slip] = (),
        fits: Fits = lambda value: True,
        text: Callable[[Any], str] = text_of,
    ) -> Ref:
        """Append a node."""
        value = operation.run(*operands_of(operands, self.values))
        if not fits(value):
            raise DeadEndError
        draw = slips if callable(slips) else _ListedSlips(slips)
        self.nodes.append(Node(name, operation, tuple(operands), frames, draw, fits, text))
        self.values.append(value)
        return Ref(len(self.nodes) - 1)

    def value(self, operand: Any) -> Any:  # noqa: ANN401
        """Return the right value of an operand."""
        return self.values[operand.node] if type(operand) is Ref else operand
