"""The offline injector: errors by rule in generated solutions, for machines without a model.

It runs the whole pipeline without a model, and it makes the bundled sample. All steps after the
error and the answer are computed from the error.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from random import Random
from typing import Any

from inspect_ai.model import ModelOutput, ModelUsage

from misstep.forge._checks import late_start
from misstep.forge._example import LATE_FRACTION, Example
from misstep.forge._offline_errors import (
    ERROR_CASES,
    ERROR_STEP,
    FINAL_STEPS,
    Continuation,
    continue_solution,
)
from misstep.generator import ANSWERS, Slip, evaluate, operands_of, settings_of, solution
from misstep.loaders import RawRow
from misstep.providers import ModelRequest, Provider
from misstep.registry import ModelError
from misstep.verdicts import NO_ERROR

OFFLINE = "offline"
"""The name of the source, and the prefix of its model `offline/rules`."""
GENERATOR = "misstep offline injector (rules, no model)"

_FAMILIES = ("word_problems", "counting", "sequences")
_TRIES = 100
_MIN_N, _MAX_N = 12, 3000
"""The range of the number N that the generated solution finds."""


@dataclass(frozen=True)
class OfflineSolution:
    """A generated solution, and the same solution with an error."""

    id: str
    problem: str
    steps: list[str]
    label: int
    rewritten: list[str]
    """The steps from the error on."""
    error_type: str
    answer: str
    final_answer: str
    flaw: str

    def row(self) -> dict[str, str]:
        """Return the solution as a row of a corpus."""
        return {
            "id": self.id,
            "problem": self.problem,
            "solution": "\n".join(self.steps),
            "source": OFFLINE,
        }

    def example(self, with_error: bool) -> Example:
        """Return the example with its error, or untouched."""
        return Example(
            id=self.id,
            problem=self.problem,
            steps=self.steps[: self.label] + self.rewritten if with_error else self.steps,
            label=self.label if with_error else NO_ERROR,
            subset=OFFLINE,
            generator=GENERATOR,
            final_answer_correct=not with_error,
            error_type=self.error_type if with_error else None,
            original_steps=self.steps,
            answer=self.answer,
            final_answer=self.final_answer if with_error else self.answer,
            why_incorrect=self.flaw if with_error else "",
        )


@lru_cache(maxsize=4096)
def offline_solution(seed: int, index: int) -> OfflineSolution:
    """Return the solution of an index. The error types take turns."""
    error_type = list(ERROR_CASES)[index % len(ERROR_CASES)]
    random = Random(f"offline/{seed}/{index}")  # noqa: S311 (not a secret)
    for attempt in range(_TRIES):
        settings = settings_of("6-12", families=random.choice(_FAMILIES), correct_share=1)
        found = solution(seed, index * _TRIES + attempt, settings)
        if not found.answer.isdigit() or not _MIN_N <= int(found.answer) <= _MAX_N:
            continue
        label = len(found.correct_steps) + ERROR_STEP
        # The numbers of final steps that leave the error in the late part.
        allowed = [
            final_steps
            for final_steps in FINAL_STEPS
            if label >= late_start(label + 2 + final_steps, LATE_FRACTION)
        ]
        added = continue_solution(error_type, random, int(found.answer), random.choice(allowed))
        slips = {ERROR_STEP: added.slip}
        right, wrong = added.sheet.values, evaluate(added.sheet.nodes, slips, {})
        if right[-1] == wrong[-1]:
            continue
        start = _without_answer(found.correct_steps, found.answer)
        return OfflineSolution(
            id=f"{OFFLINE}-{seed}-{index:05}",
            problem=f"{found.problem} Call this number N. {added.question}",
            steps=_numbered([*start, *_texts(added, right, {})]),
            label=label,
            rewritten=_numbered([*start, *_texts(added, wrong, slips)])[label:],
            error_type=error_type,
            answer=str(right[-1]),
            final_answer=str(wrong[-1]),
            flaw=added.flaw,
        )
    raise AssertionError(f"no solution for {error_type} at {seed}/{index}")


def _without_answer(steps: list[str], answer: str) -> list[str]:
    """Return the generated steps. The last one gives its result to N instead of the answer."""
    last = steps[-1]
    for ending in ANSWERS:
        last = last.removesuffix(ending.format(answer=answer))
    return [*steps[:-1], f"{last} So N is {answer}."]


def _texts(added: Continuation, values: Sequence[Any], slips: Mapping[int, Slip]) -> Iterator[str]:
    for place, node in enumerate(added.sheet.nodes):
        computed = slips.get(place, node)
        operands = operands_of(computed.operands, values)
        yield node.say(node.frames[0], computed.operation, operands, values[place])


def _numbered(steps: list[str]) -> list[str]:
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def offline_rows(seed: int, error_types: Collection[str], limit: int) -> Iterator[RawRow]:
    """Yield rows of the source `offline` in which these errors can be injected."""
    types = list(ERROR_CASES)
    indices = (index for index in count() if types[index % len(types)] in error_types)
    for index in islice(indices, limit):
        yield index + 1, offline_solution(seed, index).row()


def sample_examples(seed: int = 0, wrong: int = 48, untouched: int = 16) -> list[Example]:
    """Return the bundled sample: examples with an error, over all types, and untouched ones."""
    return [
        offline_solution(seed, index).example(with_error=index < wrong)
        for index in range(wrong + untouched)
    ]


class OfflineAPI(Provider):
    """Rules in place of a model. They know only solutions of the source `offline`."""

    async def respond(self, request: ModelRequest) -> ModelOutput:
        """Return the injected error of the current sample."""
        found = known_solution(request.sample_id or "")
        if found is None:
            raise ModelError(
                f"The offline injector has no solution {request.sample_id!r}: it works with "
                f"--source {OFFLINE} only. For other sources choose a model: --model openai/gpt-4o"
            )
        reply = {
            "error_step": found.label,
            "error_type": found.error_type,
            "rationale": "Chosen by rule: this step decides what the later ones compute.",
            "rewritten_steps": found.rewritten,
            "final_answer": found.final_answer,
            "what_changed": "The reasoning of this step; later ones are computed from it.",
            "why_incorrect": found.flaw,
            "detection_difficulty": "The arithmetic of every step holds.",
        }
        output = ModelOutput.from_content(f"{OFFLINE}/{self.model_name}", json.dumps(reply))
        output.usage = ModelUsage()
        return output


def known_solution(sample_id: str) -> OfflineSolution | None:
    """Return the solution of an id, or None if it is not one of the source `offline`."""
    source, _, numbers = sample_id.partition("-")
    seed, _, index = numbers.partition("-")
    if source != OFFLINE or not seed.isdigit() or not index.isdigit():
        return None
    return offline_solution(int(seed), int(index))
