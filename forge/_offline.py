"""The offline injector: errors by rule in generated solutions, for machines without a model.

It is no model. It makes the whole pipeline run, and gives the sample that comes along: every later
step and the answer are computed from the error.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from random import Random
from typing import Any

from misstep.forge._checks import AUTOMATIC, late_start
from misstep.forge._offline_tail import ENDINGS, ERROR_NODE, Tail
from misstep.forge._offline_tails import TAILS
from misstep.forge._record import LATE_FRACTION, Example
from misstep.generator import ANSWERS, Slip, evaluate, operands_of, settings_of, solution
from misstep.loaders import RawRow
from misstep.verdicts import NO_ERROR

OFFLINE = "offline"
"""The name of the source, and of the model that goes with it: `offline/rules`."""
GENERATOR = "misstep offline injector (rules, no model)"

_FAMILIES = ("word_problems", "counting", "sequences")
_TRIES = 100
_LEAST, _MOST = 12, 3000
"""The numbers that a solution may find before its tail takes over."""


@dataclass(frozen=True)
class OfflineSolution:
    """A generated solution, and what becomes of it with the error."""

    id: str
    problem: str
    steps: list[str]
    label: int
    rewritten: list[str]
    """From the error on."""
    error_type: str
    answer: str
    final_answer: str
    flaw: str

    def row(self) -> dict[str, str]:
        """The row of a corpus."""
        return {
            "id": self.id,
            "problem": self.problem,
            "solution": "\n".join(self.steps),
            "source": OFFLINE,
        }

    def example(self, erring: bool) -> Example:
        """The example, with its error or untouched."""
        return Example(
            id=self.id,
            problem=self.problem,
            steps=self.steps[: self.label] + self.rewritten if erring else self.steps,
            label=self.label if erring else NO_ERROR,
            subset=OFFLINE,
            generator=GENERATOR,
            final_answer_correct=not erring,
            error_type=self.error_type if erring else None,
            original_steps=self.steps,
            answer=self.answer,
            final_answer=self.final_answer if erring else self.answer,
            why_incorrect=self.flaw if erring else "",
            checks=[check.value for check in AUTOMATIC],
        )


@lru_cache(maxsize=4096)
def offline_solution(seed: int, index: int) -> OfflineSolution:
    """The solution of an index; the type of its error goes round."""
    kind = list(TAILS)[index % len(TAILS)]
    random = Random(f"offline/{seed}/{index}")  # noqa: S311 (not a secret)
    for attempt in range(_TRIES):
        settings = settings_of("6-12", families=random.choice(_FAMILIES), correct_share=1)
        found = solution(seed, index * _TRIES + attempt, settings)
        if not found.answer.isdigit() or not _LEAST <= int(found.answer) <= _MOST:
            continue
        length = len(found.correct_steps)
        # As many last steps as leave the error in the last quarter.
        late = [
            endings
            for endings in ENDINGS
            if length + ERROR_NODE >= late_start(length + ERROR_NODE + 2 + endings, LATE_FRACTION)
        ]
        tail = TAILS[kind](random, int(found.answer), random.choice(late))
        right, wrong = _values(tail, {}), _values(tail, {ERROR_NODE: tail.slip})
        if right[-1] == wrong[-1]:
            continue
        start = _start(found.correct_steps, found.answer)
        return OfflineSolution(
            id=f"{OFFLINE}-{seed}-{index:05}",
            problem=f"{found.problem} Call this number N. {tail.question}",
            steps=_numbered([*start, *_texts(tail, right, {})]),
            label=len(start) + ERROR_NODE,
            rewritten=_numbered([*start, *_texts(tail, wrong, {ERROR_NODE: tail.slip})])[
                len(start) + ERROR_NODE :
            ],
            error_type=kind,
            answer=str(right[-1]),
            final_answer=str(wrong[-1]),
            flaw=tail.flaw,
        )
    raise AssertionError(f"no solution for {kind} at {seed}/{index}")


def _start(steps: list[str], answer: str) -> list[str]:
    """The generated steps, of which the last hands its answer over to the tail."""
    last = steps[-1]
    for ending in ANSWERS:
        last = last.removesuffix(ending.format(answer=answer))
    return [*steps[:-1], f"{last} So N is {answer}."]


def _values(tail: Tail, slips: dict[int, Slip]) -> list[Any]:
    return evaluate(tail.sheet.nodes, slips, {})


def _texts(tail: Tail, values: list[Any], slips: dict[int, Slip]) -> Iterator[str]:
    for place, node in enumerate(tail.sheet.nodes):
        doing = slips.get(place, node)
        given = operands_of(doing.operands, values)
        yield node.say(node.frames[0], doing.operation, given, values[place])


def _numbered(steps: list[str]) -> list[str]:
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def offline_rows(seed: int, error_types: Collection[str], wanted: int) -> Iterator[RawRow]:
    """Rows of a corpus that the offline injector knows.

    Args:
        seed: Another seed, other rows.
        error_types: The errors that can be made in them.
        wanted: How many.
    """
    kinds = list(TAILS)
    indices = (index for index in count() if kinds[index % len(kinds)] in error_types)
    for index in islice(indices, wanted):
        yield index + 1, offline_solution(seed, index).row()


def known_solution(name: str) -> OfflineSolution | None:
    """The solution of an id, if it is one of the offline injector's."""
    source, _, numbers = name.partition("-")
    seed, _, index = numbers.partition("-")
    if source != OFFLINE or not seed.isdigit() or not index.isdigit():
        return None
    return offline_solution(int(seed), int(index))


def sample_examples(seed: int = 0, wrong: int = 48, untouched: int = 16) -> list[Example]:
    """The sample that comes along: so many with an error, over all types, and so many without."""
    return [
        offline_solution(seed, index).example(erring=index < wrong)
        for index in range(wrong + untouched)
    ]
