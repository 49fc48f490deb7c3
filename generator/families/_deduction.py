"""Who comes to the party: rules that decide one guest after the other."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Sheet, Slip, Slips
from misstep.generator.families._shuffled_objects import PEOPLE

ERROR_TYPES = "sign dropped_case misread swapped_roles overgeneralisation condition off_by_one"
LATE = "dropped_case off_by_one"
FRAMES = (
    "{Name}: {expr}, so {name} {value}.",
    "Since {expr}, {name} {value}.",
    "We know that {expr}; so {name} {value}.",
    "{expr}. Therefore {name} {value}.",
    "{expr}, and by the rule for {name}, {name} {value}.",
    "Now {name}: as {expr}, {name} {value}.",
)
COUNTED = (
    "Count: {expr}; number of guests: {value}.",
    "Those who come: {expr}; number of guests: {value}.",
    "We count those who come ({expr}); number of guests: {value}.",
    "To count those who come, we list them: {expr}; number of guests: {value}.",
    "On the list of those who come: {expr}; number of guests: {value}.",
)

RULES: dict[str, tuple[Callable[[bool, bool], bool], str]] = {
    "both": (lambda a, b: a and b, "both {a} and {b} come"),
    "either": (lambda a, b: a or b, "at least one of {a} and {b} comes"),
    "one": (lambda a, b: a != b, "exactly one of {a} and {b} comes"),
    "unless": (lambda a, b: a and not b, "{a} comes and {b} does not"),
    "neither": (lambda a, b: not a and not b, "neither {a} nor {b} comes"),
}
TAKEN_FOR = {
    "both": (("condition", "either"), ("sign", "unless")),
    "either": (("condition", "both"), ("misread", "one")),
    "one": (("overgeneralisation", "either"), ("condition", "both")),
    "unless": (("sign", "both"), ("overgeneralisation", "one")),
    "neither": (("sign", "both"), ("misread", "one")),
}
"""The rules that are mistaken for a rule, with the type of that error."""


def _comes(value: bool) -> str:
    return "comes" if value else "stays away"


def _rule(rule: str, a: str, b: str) -> Operation:
    def show(x: bool, y: bool) -> str:
        return f"{a} {_comes(x)} and {b} {_comes(y)}"

    def odd(x: bool, y: bool) -> str:
        return f"{b} {_comes(y)}, and it is false that {a} {_comes(not x)}"

    return Operation(RULES[rule][0], show, odd)


def _count(names: Sequence[str], extra: int = 0) -> Operation:
    def show(*given: bool) -> str:
        return ", ".join(name for name, comes in zip(names, given, strict=True) if comes) or "none"

    return Operation(lambda *given: sum(given) + extra, show)


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a node for each guest who follows a rule. The last node counts those who come."""
    names = random.sample(PEOPLE, size + difficulty)
    known: list[Any] = []
    sentences = []
    for name in names[: difficulty + 1]:
        known.append(random.random() < 0.5)
        sentences.append(f"{name} {_comes(known[-1])}.")
    sheet = Sheet()
    for name in names[difficulty + 1 :]:
        near = list(range(max(0, len(known) - 4), len(known)))
        first, second = random.sample(near, 2)
        # Half of the guests come, whatever the rules favour, so that an error does not stand out.
        wanted = random.random() < 0.5
        values = (sheet.value(known[first]), sheet.value(known[second]))
        rule = random.choice([name for name in RULES if bool(RULES[name][0](*values)) is wanted])
        condition = RULES[rule][1].format(a=names[first], b=names[second])
        sentences.append(f"{name} comes if and only if {condition}.")
        slips = _slips(rule, names[: len(known)], known[:], (first, second))
        operation = _rule(rule, names[first], names[second])
        operands = (known[first], known[second])
        known.append(sheet.add(name, operation, operands, FRAMES, slips, text=_comes))
    slips = _count_slips(names, known)
    sheet.add(
        "the number of guests",
        _count(names),
        known,
        COUNTED,
        slips,
        lambda count: type(count) is int and 0 <= count <= len(names),
    )
    sentences.append("How many of these guests come?")
    return Problem(" ".join(sentences), sheet.nodes)


def _slips(rule: str, names: Sequence[str], known: Sequence[Any], places: tuple[int, int]) -> Slips:
    first, second = places
    a, b = names[first], names[second]
    given = (known[first], known[second])

    def slips(random: Random) -> Iterator[Slip]:
        for error_type, other in TAKEN_FOR[rule]:
            yield Slip(error_type, _rule(other, a, b), given)
        if not isinstance(given[1], Ref):
            yield Slip("misread", _rule(rule, a, b), (given[0], not given[1]))
        for third in [place for place in range(len(names)) if place not in places][-3:]:
            yield Slip("swapped_roles", _rule(rule, a, names[third]), (given[0], known[third]))

    return slips


def _count_slips(names: Sequence[str], known: Sequence[Any]) -> Slips:
    def slips(random: Random) -> Iterator[Slip]:
        yield Slip("off_by_one", _count(names, random.choice((-1, 1))), tuple(known))
        for place in random.sample(range(len(names)), min(4, len(names))):
            left = [name for name in names if name != names[place]]
            rest = (*known[:place], *known[place + 1 :])
            yield Slip("dropped_case", _count(left), rest)

    return slips
