"""The offline injector: errors by rule in generated solutions, for machines without a model.

It runs the whole pipeline without a model, and it makes the bundled sample. All steps after the
error and the answer are computed from the error.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from random import Random

from inspect_ai.model import ModelOutput, ModelUsage

from misstep.forge._checks import late_start
from misstep.forge._example import Example
from misstep.forge._offline_errors import Part, draw_part, themes
from misstep.generator import ANSWERS, settings_of, solution
from misstep.loaders import RawRow
from misstep.providers import ModelRequest, Provider
from misstep.registry import ModelError, taxonomy
from misstep.verdicts import NO_ERROR

OFFLINE = "offline"
"""The name of the source, and the prefix of its model `offline/rules`."""
GENERATOR = "misstep offline injector (rules, no model)"
SAMPLE_FRACTION = 0.5
"""The part of the bundled solutions, from their end, that gets the error."""

_FAMILIES = ("word_problems", "counting", "sequences")
_PARTS = (8, 12)
"""The smallest and the largest number of parts. Each is one step, and it could be wrong."""
_NAMES = "ABDEFGHJKLMPQR"
"""The names of the numbers that the parts find."""
_ENDINGS = (
    "So the answer is $\\boxed{{{r}}}$.",
    "The number that was asked for is $\\boxed{{{r}}}$.",
    "We have found the answer, $\\boxed{{{r}}}$.",
)
_TRIES = 100
_START = range(12, 600)
"""The numbers that the generated start of a solution may find."""
_FOUND = range(12, 20_000)
"""The numbers that parts may find."""


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
    late_fraction: float

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
            late_fraction=self.late_fraction,
            why_incorrect=self.flaw if with_error else "",
        )


@lru_cache(maxsize=4096)
def offline_solution(
    seed: int, index: int, late_fraction: float = SAMPLE_FRACTION
) -> OfflineSolution:
    """Return the solution of an index. The error types take turns."""
    error_type = list(taxonomy())[index % len(taxonomy())]
    random = Random(f"offline/{seed}/{index}/{late_fraction:g}")  # noqa: S311 (not a secret)
    for attempt in range(_TRIES):
        settings = settings_of("4-6", families=random.choice(_FAMILIES), correct_share=1)
        found = solution(seed, index * _TRIES + attempt, settings)
        if not found.answer.isdigit() or int(found.answer) not in _START:
            continue
        place, parts = _draw_parts(error_type, random, len(found.correct_steps), late_fraction)
        start = _without_answer(found.correct_steps, found.answer)
        ending = random.choice(_ENDINGS)
        right, answer = _solve(parts, start, int(found.answer), ending, None)
        wrong, final_answer = _solve(parts, start, int(found.answer), ending, place)
        if answer is None or final_answer is None or answer == final_answer:
            continue
        names = zip(parts, _NAMES, _NAMES[1:], strict=False)
        problem = " ".join(part.problem(name, next_name) for part, name, next_name in names)
        fraction = "" if late_fraction == SAMPLE_FRACTION else f"-{late_fraction:g}"
        label = len(start) + place
        return OfflineSolution(
            id=f"{OFFLINE}-{seed}-{index:05}{fraction}",
            problem=f"{found.problem} Call this number A. {problem} What is {_NAMES[len(parts)]}?",
            steps=right,
            label=label,
            rewritten=wrong[label:],
            error_type=error_type,
            answer=str(answer),
            final_answer=str(final_answer),
            flaw=parts[place].flaw,
            late_fraction=late_fraction,
        )
    raise AssertionError(f"no solution for {error_type} at {seed}/{index}")


def _draw_parts(
    error_type: str, random: Random, start: int, late_fraction: float
) -> tuple[int, list[Part]]:
    """Draw the parts, and the place of the error among those that are late enough."""
    total = random.randint(*_PARTS)
    # The last step states the answer: no part has it.
    first = max(0, late_start(start + total + 1, late_fraction) - start)
    place = random.randrange(first, total)
    own = random.choice([about for about in themes() if about[0] == error_type])
    chosen = random.sample([about for about in themes() if about != own], total - 1)
    chosen.insert(place, own)
    parts = [
        draw_part(kind, theme, random, with_error=at == place)
        for at, (kind, theme) in enumerate(chosen)
    ]
    return place, parts


def _solve(
    parts: list[Part], start: list[str], n: int, ending: str, wrong: int | None
) -> tuple[list[str], int | None]:
    """Return the steps of a solution and its answer, or None if a number is too small or large."""
    steps = list(start)
    for place, part in enumerate(parts):
        text, n = part.step(n, _NAMES[place], _NAMES[place + 1], with_error=place == wrong)
        steps.append(text)
        if n not in _FOUND:
            return [], None
    steps.append(ending.format(r=n))
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)], n


def _without_answer(steps: list[str], answer: str) -> list[str]:
    """Return the generated steps. The last one gives its result to A instead of the answer."""
    last = steps[-1]
    for ending in ANSWERS:
        last = last.removesuffix(ending.format(answer=answer))
    return [*steps[:-1], f"{last} So A is {answer}."]


def offline_rows(
    seed: int, error_types: Collection[str], limit: int, late_fraction: float
) -> Iterator[RawRow]:
    """Yield rows of the source `offline` in which these errors can be injected."""
    types = list(taxonomy())
    indices = (index for index in count() if types[index % len(types)] in error_types)
    for index in islice(indices, limit):
        yield index + 1, offline_solution(seed, index, late_fraction).row()


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
    source, *numbers = sample_id.split("-", 3)
    if source != OFFLINE or len(numbers) < 2 or not all(map(str.isdigit, numbers[:2])):
        return None
    try:
        fraction = float(numbers[2]) if len(numbers) > 2 else SAMPLE_FRACTION
    except ValueError:
        return None
    if not 0 < fraction <= 1:
        return None
    return offline_solution(int(numbers[0]), int(numbers[1]), fraction)
