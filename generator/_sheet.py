"""Building a graph node by node, with the values at hand."""

from collections.abc import Callable, Sequence
from typing import Any

from misstep.generator._graph import (
    DeadEndError,
    Fits,
    Node,
    Operation,
    Problem,
    Ref,
    Slips,
    anything,
    no_slips,
    operands_of,
    text_of,
)


class Sheet:
    """The nodes so far and their right values."""

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
        slips: Slips = no_slips,
        fits: Fits = anything,
        text: Callable[[Any], str] = text_of,
    ) -> Ref:
        """Append a node.

        Raises:
            DeadEndError: Its value does not fit.
        """
        value = operation.run(*operands_of(operands, self.values))
        if not fits(value):
            raise DeadEndError
        self.nodes.append(Node(name, operation, tuple(operands), frames, slips, fits, text))
        self.values.append(value)
        return Ref(len(self.nodes) - 1)

    def value(self, operand: Any) -> Any:  # noqa: ANN401
        """The right value of an operand."""
        return self.values[operand.node] if type(operand) is Ref else operand

    def problem(self, text: str) -> Problem:
        """What was built."""
        return Problem(text, self.nodes)
