"""Programs with numbers and a list, traced line by line."""

from collections.abc import Iterator
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Slip, Slips, text_of
from misstep.generator._numbers import (
    ADD,
    CODE_FRAMES,
    MULTIPLY,
    SUBTRACT,
    TOTAL,
    NumberSheet,
    positive,
)

ERROR_TYPES = "wrong_operation dropped_case misread off_by_one swapped_roles condition"
SIZES = {1: (2, 9), 2: (3, 20), 3: (10, 80)}
LISTS = (
    "{name} is {expr}: {value}.",
    "For {name} we take {expr} and get {value}.",
    "Now {name}: this is {expr}, which is {value}.",
    "We work out {name}: {expr} is {value}.",
    "{name} becomes {expr}, that is {value}.",
)
SMALL = 0.2
"""The share of other numbers that are as small as factors."""
LONGEST = 6


def _if_greater(left: int, right: int) -> Operation:
    return ADD if left > right else SUBTRACT


IF_GREATER = Operation(
    lambda a, b, left, right: _if_greater(left, right).run(a, b),
    lambda a, b, left, right: _if_greater(left, right).show(a, b),
)
IF_NOT = Operation(
    lambda a, b, left, right: _if_greater(right, left).run(a, b),
    lambda a, b, left, right: _if_greater(right, left).show(a, b),
)
APPEND = Operation(
    lambda items, item: (*items, item),
    lambda items, item: f"{text_of(items)} with {item} added at the end",
)
APPEND_FRONT = Operation(lambda items, item: (item, *items), APPEND.show)
APPEND_NOTHING = Operation(lambda items, item: items, APPEND.show)
REVERSE = Operation(lambda items: items[::-1], lambda items: f"{text_of(items)} in reverse order")
REST = Operation(lambda items: items[1:], lambda items: f"{text_of(items)} without its first item")
BUT_LAST = Operation(lambda items: items[:-1], REST.show)
KEEP = Operation(lambda items: items, REVERSE.show)
ITEM = Operation(
    lambda items, place: items[place],
    lambda items, place: f"the item with index {place} in {text_of(items)}",
)
ITEM_FROM_ONE = Operation(lambda items, place: items[place - 1], ITEM.show)
SUM = Operation(lambda items: sum(items), lambda items: TOTAL.show(*items))
SUM_BUT_LAST = Operation(lambda items: sum(items[:-1]), lambda items: TOTAL.show(*items[:-1]))


class _Writer:
    """A program that grows line by line, with the nodes of its trace."""

    def __init__(self, random: Random, difficulty: int) -> None:
        self.random = random
        self.low, self.high = SIZES[difficulty]
        self.limit = positive(60 * self.high)
        self.sheet = NumberSheet(self.limit, CODE_FRAMES)
        self.lines: list[str] = []
        self.numbers: dict[str, Any] = {}
        for name in "abc"[: 2 + (difficulty > 1)]:
            self.numbers[name] = self._amount() + self.high
            self.lines.append(f"{name} = {self.numbers[name]}")
        self.items: Any = tuple(self._amount() for _ in range(3))
        self.lines.append(f"xs = {text_of(self.items)}")
        self.latest = "a"

    def _amount(self) -> int:
        return self.random.randrange(self.low, self.high)

    def _value(self, name: str) -> int:
        value = self.sheet.value(self.numbers[name])
        assert isinstance(value, int)  # noqa: S101 (numbers are whole here)
        return value

    def _names(self) -> tuple[str, str, str]:
        """Return any variable, one that was most often just set, and a different one."""
        names = list(self.numbers)
        second = self.latest if self.random.random() < 0.7 else self.random.choice(names)
        third = self.random.choice([name for name in names if name != second])
        return self.random.choice(names), second, third

    def _assign(
        self, name: str, code: str, operation: Operation, operands: tuple[Any, ...], slip: Slip
    ) -> None:
        label = self._line(name, f"{name} = {code}")
        self.numbers[name] = self.sheet.compute(label, operation, operands, slip, confused=True)

    def _line(self, name: str, code: str) -> str:
        """Add a line that sets a number. Return the name of its node."""
        self.lines.append(code)
        self.latest = name
        return f"{name} after line {len(self.lines)}"

    def number(self) -> None:
        """Add a line that computes a number from another."""
        target, source, other = self._names()
        amount = self._amount()
        value = self._value(source)
        sign = self.random.choice("+-*")
        if sign == "*" and value < 3 * self.high:
            amount = self.random.randrange(2, 4)
        else:
            if self.random.random() < SMALL:
                amount = self.random.randrange(2, 4)
            if sign != "+":
                sign = "-" if value > amount + 1 else "+"
        operation = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY}[sign]
        operands = (self.numbers[source], amount)
        slip = Slip("swapped_roles", operation, (self.numbers[other], amount))
        self._assign(target, f"{source} {sign} {amount}", operation, operands, slip)

    def branch(self) -> None:
        """Add a line that adds or subtracts, depending on which number is greater."""
        target, left, right = self._names()
        amount = min(self._amount(), max(2, self._value(target) - 2))
        numbers = self.numbers
        operands = (numbers[target], amount, numbers[left], numbers[right])
        code = f"{target} + {amount} if {left} > {right} else {target} - {amount}"
        slip = Slip("condition", IF_NOT, operands)
        self._assign(target, code, IF_GREATER, operands, slip)

    def from_list(self) -> None:
        """Add a line that takes a number out of the list."""
        target = self.random.choice(list(self.numbers))
        length = len(self.sheet.value(self.items))
        if self.random.random() < 0.5:
            slip = Slip("dropped_case", SUM_BUT_LAST, (self.items,))
            self._assign(target, "sum(xs)", SUM, (self.items,), slip)
            return
        place = self.random.randrange(1, length)
        given = (self.items, place)
        slips = [
            Slip("off_by_one", ITEM_FROM_ONE, given),
            Slip("misread", ITEM, (self.items, place - 1)),
        ]
        label = self._line(target, f"{target} = xs[{place}]")
        self.numbers[target] = self.sheet.add(label, ITEM, given, LISTS, slips, self.limit)

    def change_list(self) -> None:
        """Add a line that changes the list."""
        length = len(self.sheet.value(self.items))
        name = self._names()[1]
        kinds = ["reverse"] + ["append"] * (length < LONGEST) + ["rest"] * (length > 3)
        kind = self.random.choice(kinds)
        code, operation, operands = {
            "append": (f"xs.append({name})", APPEND, (self.items, self.numbers[name])),
            "reverse": ("xs.reverse()", REVERSE, (self.items,)),
            "rest": ("xs = xs[1:]", REST, (self.items,)),
        }[kind]
        self.lines.append(code)
        slips = self._list_slips(kind, operands, name)
        label = f"xs after line {len(self.lines)}"
        self.items = self.sheet.add(
            label, operation, operands, LISTS, slips, lambda xs: 2 <= len(xs) <= LONGEST + 1
        )

    def _list_slips(self, kind: str, operands: tuple[Any, ...], name: str) -> Slips:
        others = [value for key, value in self.numbers.items() if key != name]

        def slips(random: Random) -> Iterator[Slip]:
            if kind == "append":
                yield Slip("swapped_roles", APPEND, (operands[0], random.choice(others)))
                yield Slip("wrong_operation", APPEND_FRONT, operands)
                yield Slip("dropped_case", APPEND_NOTHING, operands)
            elif kind == "reverse":
                yield Slip("dropped_case", KEEP, operands)
            else:
                yield Slip("off_by_one", BUT_LAST, operands)

        return slips


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for every line after the first ones, which set the variables."""
    writer = _Writer(random, difficulty)
    makers = (writer.number, writer.number, writer.branch, writer.from_list, writer.change_list)
    for _ in range(size - 1):
        random.choice(makers)()
    random.choice((writer.number, writer.from_list))()
    asked = writer.lines[-1].split(" ")[0]
    listing = "\n".join(f"{number}: {line}" for number, line in enumerate(writer.lines, start=1))
    text = f"Here is a Python program:\n{listing}\nWhat is {asked} at the end?"
    return Problem(text, writer.sheet.nodes)
