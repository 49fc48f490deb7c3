"""People who trade and pass on what they hold."""

from collections.abc import Sequence
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Sheet, Slip, words

ERROR_TYPES = "dropped_case misread condition swapped_roles"
THINGS = words("ball key cup hat coin pen map bell ring book lamp shell drum kite flag rope")
PEOPLE = words(
    "Ada Ben Cora Dan Eva Finn Gina Hugo Iris Jack Kira Liam Mona Nils Olga Paul Rosa Sven Tara "
    "Uma Vito Wanda Yuri Zoe Amos Bela Carl Dora Emil Fay Gus Hana Ivan Jill"
)
COUNTS = {1: 3, 2: 4, 3: 6}
FRAMES = (
    "{Name}: {expr}. Now {value}.",
    "In {name}, {expr}; so {value}.",
    "After {name}, in which {expr}: {value}.",
    "We come to {name}: {expr}. That leaves us with this: {value}.",
    "With {name} ({expr}), the new situation is this: {value}.",
)
FOUND = (
    "{Name}: {expr} has the {value}.",
    "For {name}, {expr} has the {value}.",
    "We read off {name}: {expr} has the {value}.",
    "This gives {name}: {expr} has the {value}.",
    "Now {name}: {expr} has the {value}.",
)

Holding = tuple[str, ...]


def _trade(people: Sequence[str], a: int, b: int) -> Operation:
    def run(state: Holding) -> Holding:
        now = list(state)
        now[a], now[b] = now[b], now[a]
        return tuple(now)

    return Operation(
        run,
        lambda state: f"{people[a]} and {people[b]} trade",
        lambda state: (
            f"{people[b]} gives {people[a]} the {state[b]} and gets the {state[a]} for it"
        ),
    )


def _pass_on(people: Sequence[str], a: int, b: int, c: int) -> Operation:
    def run(state: Holding) -> Holding:
        now = list(state)
        now[b], now[c], now[a] = state[a], state[b], state[c]
        return tuple(now)

    x, y, z = people[a], people[b], people[c]
    return Operation(run, lambda state: f"{x} passes on to {y}, {y} to {z}, {z} to {x}")


def _if_holds(who: int, thing: str, yes: Operation, no: Operation) -> Operation:
    def chosen(state: Holding) -> Operation:
        return yes if state[who] == thing else no

    return Operation(
        lambda state: chosen(state).run(state), lambda state: chosen(state).show(state)
    )


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for every move, and one for the answer."""
    count = COUNTS[difficulty]
    people, things = random.sample(PEOPLE, count), random.sample(THINGS, count)
    state: Any = tuple(things)
    sheet = Sheet()
    sentences = [f"{who} has the {it}." for who, it in zip(people, things, strict=True)]
    sentences.append(
        "In a trade, two people exchange what they have. Where people pass on what they have, all "
        "of them do so at the same time."
    )

    def held(value: Holding) -> str:
        return ", ".join(f"{who} has the {it}" for who, it in zip(people, value, strict=True))

    for number in range(1, size):
        text, operation, wrong = _move(random, people, things, sheet.value(state))
        sentences.append(f"Move {number}: {text}.")
        slips = [Slip(error_type, other, (state,)) for error_type, other in wrong]
        state = sheet.add(f"move {number}", operation, (state,), FRAMES, slips, text=held)
    asked = random.randrange(count)
    slip = Slip("swapped_roles", _look(people, (asked + 1) % count, asked), (state,))
    sheet.add("the answer", _look(people, asked, asked), (state,), FOUND, [slip])
    sentences.append(f"What does {people[asked]} have at the end?")
    return Problem(" ".join(sentences), sheet.nodes)


def _look(people: Sequence[str], place: int, asked: int) -> Operation:
    return Operation(lambda state: state[place], lambda state: people[asked])


def _move(
    random: Random, people: Sequence[str], things: Sequence[str], state: Holding
) -> tuple[str, Operation, list[tuple[str, Operation]]]:
    """Return the text of a move, its operation, and wrong operations by error type."""
    a, b, c = random.sample(range(len(people)), 3)
    kind = random.choice(("trade", "pass", "if"))
    if kind == "pass":
        operation = _pass_on(people, a, b, c)
        back = Operation(_pass_on(people, c, b, a).run, operation.show)
        slips = [("swapped_roles", back)]
    elif kind == "trade":
        operation = _trade(people, a, b)
        slips = [("misread", _trade(people, a, c)), ("misread", _trade(people, b, c))]
    else:
        yes, no = _trade(people, a, b), _trade(people, b, c)
        thing = state[a] if random.random() < 0.5 else random.choice(things)
        operation = _if_holds(a, thing, yes, no)
        text = (
            f"if {people[a]} has the {thing}, {people[a]} and {people[b]} trade; "
            f"otherwise {people[b]} and {people[c]} trade"
        )
        slips = [("condition", _if_holds(a, thing, no, yes)), ("misread", _trade(people, a, c))]
    if kind != "if":
        text = operation.show(state)
    nothing = Operation(lambda state: state, operation.show)
    return text, operation, [*slips, ("dropped_case", nothing)]
