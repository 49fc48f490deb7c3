"""Brackets, read one character at a time."""

from collections.abc import Iterator
from random import Random
from typing import Any

from misstep.generator._graph import DeadEndError, Operation, Problem, Sheet, Slip, Slips

ERROR_TYPES = "dropped_case misread off_by_one condition swapped_roles"
KINDS = {1: "([", 2: "([{", 3: "([{<"}
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
OPENING = {close: start for start, close in CLOSING.items()}
PARTNER = CLOSING | OPENING
FRAMES = (
    "{Name}: {expr}; open now: {value}.",
    "We read {name}: {expr}. Open now: {value}.",
    "We look at {name}: {expr}, and open now: {value}.",
    "We come to {name}: {expr}. Open now: {value}.",
    "Next is {name}: {expr}. So open now: {value}.",
)
CLOSED = (
    "{Name}: {expr}, so missing: {value}.",
    "We reach {name}: {expr}; missing: {value}.",
    "We come to {name}: {expr}, which leaves missing: {value}.",
    "At {name}, {expr}. So missing: {value}.",
    "Now {name}: {expr}; therefore missing: {value}.",
)


def _spaced(stack: str) -> str:
    return " ".join(stack) or "none"


def _next(stack: str, character: str) -> str:
    """Return the open brackets after one more character. One that closes nothing is ignored."""
    if character in CLOSING:
        return stack + character
    return stack[:-1] if stack[-1:] == OPENING[character] else stack


def _shown(stack: str, character: str) -> str:
    return f"it is {character}"


READ = Operation(
    _next, _shown, lambda stack, character: f"it is {character}, with {len(stack)} open before it"
)
PASS = Operation(lambda stack, character: stack, _shown)
CLOSE_ANY = Operation(lambda stack, character: stack[:-1], _shown)
ONE_MORE = Operation(lambda stack, character: _next(stack, character)[:-1], _shown)


def _closing(stack: str) -> str:
    return "".join(CLOSING[character] for character in reversed(stack))


def _seen(stack: str) -> str:
    return f"we have {_spaced(stack)} open"


CLOSE_ALL = Operation(_closing, _seen)
CLOSE_IN_ORDER = Operation(lambda stack: _closing(stack[::-1]), _seen)
CLOSE_BUT_ONE = Operation(lambda stack: _closing(stack[1:]), _seen)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for every character, and one for the missing brackets."""
    kinds = KINDS[difficulty]
    sheet = Sheet()
    stack, text = "", []
    state: Any = ""
    for number in range(1, size):
        top = CLOSING.get(stack[-1:], "")
        if random.random() < (0.55 if stack else 0.8):
            character = random.choice(kinds)
        elif stack and random.random() < 0.7:
            character = top
        else:
            character = CLOSING[random.choice(kinds)]
        text.append(character)
        operands = (state, character)
        state = sheet.add(
            f"character {number}", READ, operands, FRAMES, _slips(operands, kinds), text=_spaced
        )
        stack = sheet.value(state)
    if len(stack) < 2:
        raise DeadEndError
    end_slips = [
        Slip("swapped_roles", CLOSE_IN_ORDER, (state,)),
        Slip("dropped_case", CLOSE_BUT_ONE, (state,)),
    ]
    sheet.add("the end", CLOSE_ALL, (state,), CLOSED, end_slips, text=_spaced)
    return Problem(
        f"Read the brackets {' '.join(text)} from the left, character 1 first. An opening bracket "
        "is put on top of those that are open; a closing one closes the top one if there is one "
        "and it is of the same kind, and is passed over otherwise. Which brackets are missing at "
        "the end to close those that are open, in the order in which they must come?",
        sheet.nodes,
    )


def _slips(operands: tuple[Any, str], kinds: str) -> Slips:
    state, character = operands

    def slips(random: Random) -> Iterator[Slip]:
        yield Slip("dropped_case", PASS, operands)
        alike = kinds
        if character in OPENING:
            yield Slip("off_by_one", ONE_MORE, operands)
            yield Slip("condition", CLOSE_ANY, operands)
            alike = "".join(CLOSING[kind] for kind in kinds)
        yield Slip("swapped_roles", READ, (state, PARTNER[character]))
        yield Slip("misread", READ, (state, random.choice(alike.replace(character, ""))))

    return slips
