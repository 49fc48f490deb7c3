"""Tasks that wait for others: when each starts and ends."""

from collections.abc import Callable
from random import Random
from typing import Any

from misstep.generator._graph import Operation, Problem, Ref, Slip
from misstep.generator._numbers import ADD, MULTIPLY, NumberSheet

ERROR_TYPES = "wrong_operation dropped_case misread off_by_one swapped_roles condition unit"
LATE = "unit"
HOURS = {1: (2, 6), 2: (2, 12), 3: (3, 30)}
PARTS = {"minutes": 60, "hundredths of an hour": 100}
"""The smaller units, each of which is mistaken for the other."""


def _listed(word: str) -> Callable[..., str]:
    return lambda *given: f"{word}({', '.join(map(str, given))})"


LATEST = Operation(
    lambda *given: max(given), _listed("max"), lambda *given: _listed("max")(*reversed(given))
)
EARLIEST = Operation(
    lambda *given: min(given), _listed("min"), lambda *given: _listed("min")(*reversed(given))
)


def _condition(names: list[str], one: bool) -> str:
    """Return in words that tasks are done: one of them, or all."""
    if len(names) == 1:
        return f"{names[0]} is done"
    joined = f"{', '.join(names[:-1])} and {names[-1]}"
    if one:
        return f"at least one of {joined} is done"
    return f"{'both' if len(names) == 2 else 'all of'} {joined} are done"


def build(random: Random, size: int, difficulty: int) -> Problem:
    """Make a start and an end for every task but the first, whose start is given."""
    low, high = HOURS[difficulty]
    sheet = NumberSheet(lambda value: type(value) is int and 0 <= value <= 100_000)
    begin, hours = random.randrange(0, high), random.randrange(low, high)
    text = [f"Task 1 starts at hour {begin} and takes {hours} hours."]
    ends = [sheet.compute("the end of task 1", ADD, (begin, hours))]
    starts: list[Any] = [begin]
    tasks = size // 2
    for number in range(2, tasks + 1):
        waits = sorted(random.sample(range(len(ends)), min(len(ends), random.choice((1, 2, 2, 3)))))
        hours = random.randrange(low, high)
        known = [sheet.value(ends[place]) for place in waits]
        release = max(1, max(known) + random.choice((-1, 1)) * random.randrange(1, low + 3))
        kind = random.choice(("all", "released", "any", "any"))
        if len(waits) == 1:  # The latest of one end is not worth a step.
            kind = "released"
        when = _condition([f"task {place + 1}" for place in waits], kind == "any")
        if kind == "released":
            when += f", but not before hour {release}"
        text.append(f"Task {number} takes {hours} hours; it starts as soon as {when}.")
        waited = tuple(ends[place] for place in waits)
        operands = (*waited, release) if kind == "released" else waited
        operation, other = (EARLIEST, LATEST) if kind == "any" else (LATEST, EARLIEST)
        swapped = (*waited[:-1], starts[waits[-1]], *operands[len(waited) :])
        slips = [
            Slip("wrong_operation", other, operands),
            Slip("swapped_roles", operation, swapped),
        ]
        if len(operands) > 2:
            slips += [
                Slip("dropped_case", operation, (*operands[:place], *operands[place + 1 :]))
                for place in range(len(waits))
            ]
        if kind == "released" and len(waits) > 1:
            slips.append(Slip("condition", LATEST, waited))
        start = sheet.compute(f"the start of task {number}", operation, operands, *slips)
        starts.append(start)
        others = [ref for ref in starts[:-1] if isinstance(ref, Ref)][-1:]
        name = f"the end of task {number}"
        ends.append(sheet.compute(name, ADD, (start, hours), others=others))
    dropped = [
        Slip("dropped_case", LATEST, (*ends[:place], *ends[place + 1 :]))
        for place in range(len(ends) * (len(ends) > 2))
    ]
    asked = "At which hour are all tasks done?"
    last = sheet.compute("the end of all tasks", LATEST, ends, *dropped)
    if size % 2:
        unit, mistaken = random.sample(list(PARTS), 2)
        asked = f"Counted in {unit} from hour 0, when are all tasks done?"
        slip = Slip("unit", MULTIPLY, (last, PARTS[mistaken]))
        sheet.compute(f"the end of all tasks in {unit}", MULTIPLY, (last, PARTS[unit]), slip)
    return Problem(" ".join([*text, asked]), sheet.nodes)
