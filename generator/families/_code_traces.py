"""Small Python programs with a function, a loop and branches. They are run to get the truth."""

from collections.abc import Iterator
from random import Random
from typing import Any

from misstep.generator._graph import DeadEndError, Operation, Problem, Slip
from misstep.generator._numbers import CODE_FRAMES, NumberSheet

ERROR_TYPES = "wrong_operation misread off_by_one swapped_roles overgeneralisation condition"
SIZES = {1: (2, 9), 2: (5, 30), 3: (20, 150)}
VARIABLES = "abc"

MODULO = Operation(
    lambda x, k, y, m: (x * k + y) % m,
    lambda x, k, y, m: f"({x} * {k} + {y}) % {m}",
    lambda x, k, y, m: f"({y} + {k} * {x}) % {m}",
)
MODULO_LATE = Operation(
    lambda x, k, y, m: x * k + y % m, lambda x, k, y, m: f"{x} * {k} + {y} % {m}"
)
LARGER = Operation(
    lambda x, y, k: max(x, y + k),
    lambda x, y, k: f"max({x}, {y} + {k})",
    lambda x, y, k: f"max({k} + {y}, {x})",
)
SMALLER = Operation(lambda x, y, k: min(x, y + k), LARGER.show)
WHOLE = Operation(
    lambda x, k, y: x // k + y,
    lambda x, k, y: f"{x} // {k} + {y}",
    lambda x, k, y: f"{y} + {x} // {k}",
)
ROUNDED_UP = Operation(lambda x, k, y: -(-x // k) + y, WHOLE.show)


def _branch(x: int, y: int, k: int, taken: bool) -> int:
    return x - y if taken else x + k


def _branch_shown(x: int, y: int, k: int, taken: bool) -> str:
    return f"{x} - {y}" if taken else f"{x} + {k}"


BRANCH = Operation(
    lambda x, y, k: _branch(x, y, k, x > y), lambda x, y, k: _branch_shown(x, y, k, x > y)
)
OTHER_BRANCH = Operation(
    lambda x, y, k: _branch(x, y, k, x <= y), lambda x, y, k: _branch_shown(x, y, k, x <= y)
)


class _Statement:
    """A statement of the program: its code, and the computation of its target."""

    def __init__(
        self, random: Random, target: str, first: str, difficulty: int, function: tuple[int, ...]
    ) -> None:
        low, high = SIZES[difficulty]
        self.target = target
        self.x = random.choice(first)
        self.y = random.choice([name for name in VARIABLES if name != self.x])
        self.k = random.randrange(2, 6)
        self.m = random.randrange(high, 3 * high)
        self.kind = random.choice(("modulo", "larger", "whole", "branch", "call"))
        self.more = random.randrange(low, high)
        self.function = function

    def code(self) -> list[str]:
        """Return the lines of the statement."""
        t, x, y, k = self.target, self.x, self.y, self.k
        return {
            "modulo": [f"{t} = ({x} * {k} + {y}) % {self.m}"],
            "larger": [f"{t} = max({x}, {y} + {k})"],
            "whole": [f"{t} = {x} // {k} + {y}"],
            "branch": [
                f"if {x} > {y}:",
                f"    {t} = {x} - {y}",
                "else:",
                f"    {t} = {x} + {self.more}",
            ],
            "call": [f"{t} = f({x}) + {y}"],
        }[self.kind]

    def computation(self, values: dict[str, Any]) -> tuple[Operation, tuple[Any, ...], list[Slip]]:
        """Return the operation with its operands and its own slips."""
        x, y, k = values[self.x], values[self.y], self.k
        if self.kind == "modulo":
            given = (x, k, y, self.m)
            late = Slip("overgeneralisation", MODULO_LATE, given)
            return MODULO, given, [late, Slip("swapped_roles", MODULO, (y, k, x, self.m))]
        if self.kind == "larger":
            return LARGER, (x, y, k), [Slip("wrong_operation", SMALLER, (x, y, k))]
        if self.kind == "whole":
            up = Slip("overgeneralisation", ROUNDED_UP, (x, k, y))
            return WHOLE, (x, k, y), [up, Slip("swapped_roles", WHOLE, (y, k, x))]
        if self.kind == "branch":
            branch = (x, y, self.more)
            return BRANCH, branch, [Slip("condition", OTHER_BRANCH, branch)]
        p, q, m = self.function
        called = Operation(
            lambda x, y: (x * p + q) % m + y,
            lambda x, y: f"({x} * {p} + {q}) % {m} + {y}",
            lambda x, y: f"{y} + ({x} * {p} + {q}) % {m}",
        )
        inside = Operation(
            lambda x, y: (x * p + q + y) % m, lambda x, y: f"({x} * {p} + {q} + {y}) % {m}"
        )
        swapped = Slip("swapped_roles", called, (y, x))
        return called, (x, y), [Slip("overgeneralisation", inside, (x, y)), swapped]


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a loop, and a node for every assignment that is executed; the last is after the loop."""
    low, high = SIZES[difficulty]
    function = (random.randrange(2, 6), random.randrange(1, high), random.randrange(high, 2 * high))
    width = random.choice([w for w in (1, 2, 3) if size - 1 >= 2 * w])
    passes = (size - 1) // width
    after = size - width * passes
    start, values = random.randrange(1, 4), {}
    lines = ["def f(n):", f"    return (n * {function[0]} + {function[1]}) % {function[2]}"]
    for name in VARIABLES:
        values[name] = random.randrange(low, 2 * high)
        lines.append(f"{name} = {values[name]}")
    targets = random.sample(VARIABLES, width)
    body = [_Statement(random, name, f"{name}i", difficulty, function) for name in targets]
    ends = [
        _Statement(random, name, "".join(targets), difficulty, function)
        for name in (*("d", "e", "g")[: after - 1], "result")
    ]
    lines.append(f"for i in range({start}, {start + passes}):")
    lines += [f"    {line}" for statement in body for line in statement.code()]
    lines += [line for statement in ends for line in statement.code()]
    sheet = NumberSheet(lambda value: type(value) is int and 0 <= value <= 100_000, CODE_FRAMES)
    state: dict[str, Any] = dict(values)
    for number in range(start, start + passes):
        state["i"] = number
        for statement in body:
            _execute(sheet, statement, state, f"in the pass with i = {number}")
    for statement in ends:
        _execute(sheet, statement, state, "after the loop")
    if sheet.values != list(_run(lines, (*targets, *(end.target for end in ends)))):
        raise AssertionError("a program does not compute what its nodes compute")
    listing = "\n".join(lines)
    return Problem(f"Here is a Python program:\n{listing}\nWhat is result at the end?", sheet.nodes)


def _execute(sheet: NumberSheet, statement: _Statement, state: dict[str, Any], when: str) -> None:
    operation, operands, slips = statement.computation(state)
    others = [state[name] for name in VARIABLES if state[name] not in operands][:1]
    name = f"{statement.target} {when}"
    state[statement.target] = sheet.compute(name, operation, operands, *slips, others=others)


def _run(lines: list[str], targets: tuple[str, ...]) -> Iterator[int]:
    """Run the program, and yield the values that its assignments to the targets gave."""
    seen: list[int] = []
    watched: list[str] = []
    begun = False
    for line in lines:
        watched.append(line)
        begun = begun or line.startswith("for ")
        name = line.strip().split(" ")[0]
        if begun and name in targets and " = " in line:
            watched.append(f"{line[: len(line) - len(line.lstrip())]}seen.append({name})")
    try:
        # The text is the generator's own, never from outside.
        exec(compile("\n".join(watched), "program", "exec"), {"seen": seen})  # noqa: S102
    except ArithmeticError:
        raise DeadEndError from None
    return iter(seen)
