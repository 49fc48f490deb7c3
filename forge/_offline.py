"""The offline injector: errors by rule in generated solutions, for machines without a model.

It runs the whole pipeline without a model, and it makes the bundled sample. All steps after the
error and the answer are computed from the error.

A solution is made of parts. For each error type, a part is a problem about a number in settings. A
claim that is right in one setting is wrong in another, and every step after the start of a solution
makes a claim. So neither the words nor the kind of a step tell whether it is wrong. The texts are
in offline_errors.yaml.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count, islice
from random import Random
from typing import Any, NamedTuple

from inspect_ai.model import ModelOutput, ModelUsage

from misstep.forge._checks import late_start
from misstep.forge._example import Example
from misstep.generator import ANSWERS, settings_of, solution
from misstep.loaders import RawRow
from misstep.providers import ModelRequest, Provider
from misstep.registry import ModelError, taxonomy
from misstep.verdicts import NO_ERROR

Numbers = Mapping[str, Any]
"""The numbers of a part by their names in the texts."""
_WORDINGS = 60
"""A number that the numbers of wordings divide."""


@dataclass(frozen=True)
class _Computation:
    """How the numbers of a part are drawn and computed."""

    draw: Callable[[Random], dict[str, int]]
    claims: Mapping[str, Callable[[Numbers], int]]
    """The value that each claim finds."""
    join: Callable[[Numbers], int]
    """The result of the part."""
    lead: Callable[[Numbers], int] | None = None
    """The value x that the step before the claim finds, if it needs one."""


def _growth(random: Random) -> dict[str, int]:
    return dict(zip("dg", random.sample(range(2, 8), 2), strict=True))


def _double(random: Random) -> dict[str, int]:
    small = random.choice((3, 5, 7, 9))
    return {"s": small, "t": 2 * small, "e": random.randrange(20, 90)}


def _sides(random: Random) -> dict[str, int]:
    a, b = random.randrange(3, 15), random.randrange(3, 15)
    return {"a": a, "b": b, "p": a * a, "q": b * b}


def _roots(random: Random) -> dict[str, int]:
    return dict(zip("pqt", random.sample(range(2, 30), 3), strict=True))


def _machines(random: Random) -> dict[str, int]:
    machines, least = random.randrange(3, 9), random.randrange(4, 20)
    return {"m": machines, "o": machines - 1, "k": least, "h": least + random.randrange(3, 15)}


def _polynomial(random: Random) -> dict[str, int]:
    a = random.randrange(2, 7)
    return {"a": a, "b": 2 * a, "e": random.randrange(40, 90)}


_COMPUTATIONS = {
    "invalid_generalization": _Computation(
        _growth,
        {
            "as_before": lambda k: 2 * k["x"] + 3 * k["d"],
            "other": lambda k: 2 * k["x"] + 3 * k["g"],
        },
        lambda k: k["v"] + k["x"],
        lambda k: k["n"] + 3 * k["d"],
    ),
    "theorem_misapplication": _Computation(
        _sides,
        {
            "pythagoras": lambda k: k["p"] + k["q"],
            "cosines": lambda k: k["p"] + k["q"] - k["a"] * k["b"],
        },
        lambda k: k["v"] + k["n"],
    ),
    "incomplete_case_analysis": _Computation(
        lambda random: {"d": random.randrange(2, 12), "q": random.randrange(5, 40)},
        {
            "above": lambda k: k["n"] + k["d"],
            "below": lambda k: k["n"] - k["d"],
            "both": lambda k: 2 * k["n"],
            "three": lambda k: 3 * k["n"],
        },
        lambda k: k["v"] + k["q"],
    ),
    "circular_reasoning": _Computation(
        lambda random: {
            "m": random.randrange(4, 12),
            "k": random.randrange(5, 15),
            "e": random.randrange(3, 30),
        },
        {"equal": lambda k: k["n"], "counted": lambda k: k["m"] * k["k"]},
        lambda k: k["n"] + k["v"] + k["e"],
    ),
    "false_equivalence": _Computation(
        _double,
        {"single": lambda k: k["x"] // k["s"], "double": lambda k: k["x"] // k["t"]},
        lambda k: k["v"],
        lambda k: k["n"] + k["e"],
    ),
    "domain_restriction_violation": _Computation(
        _roots,
        {"both": lambda k: k["p"] + k["q"], "first": lambda k: k["p"], "second": lambda k: k["q"]},
        lambda k: k["n"] + k["v"],
    ),
    "quantifier_confusion": _Computation(
        _machines,
        {"one": lambda k: k["h"] + k["o"] * k["k"], "all": lambda k: k["m"] * k["h"]},
        lambda k: k["n"] + k["v"],
    ),
    "invalid_substitution": _Computation(
        _polynomial,
        {
            "zero": lambda k: k["x"],
            "left": lambda k: k["x"] - k["a"] ** 2,
            "right": lambda k: k["x"] - k["a"] ** 2,
        },
        lambda k: k["v"],
        lambda k: k["n"] + k["e"],
    ),
}


@cache
def _texts() -> dict[str, Any]:
    import yaml

    content = (files("misstep.forge") / "offline_errors.yaml").read_text(encoding="utf-8")
    texts: dict[str, Any] = yaml.safe_load(content)
    if set(texts) != set(taxonomy()) or set(_COMPUTATIONS) != set(texts):
        raise AssertionError("every error type of the taxonomy has texts and a computation")
    return texts


class PartStep(NamedTuple):
    """The step of a part, and the number that it finds."""

    text: str
    result: int


@dataclass(frozen=True)
class Part:
    """A part of an offline solution: a problem about one number, with one claim that decides it."""

    error_type: str
    setting: str
    right: str
    """The claim that holds."""
    wrong: str | None
    """The claim of the error, if the part is to have one."""
    words: Mapping[str, Any]
    """The numbers of the part, and the words of its theme."""
    wordings: tuple[int, int, int]
    """The drawn wordings of the lead, the claim and the join."""

    def problem(self, name: str, next_name: str) -> str:
        """Return the problem about the number `name`, whose result is called `next_name`."""
        ask: str = self._texts["ask"]
        return ask.format(**self.words, N=name, R=next_name)

    @property
    def flaw(self) -> str:
        """Why the wrong claim does not hold."""
        flaw: str = self._texts["flaw"]
        return flaw.format(**self.words)

    @property
    def _texts(self) -> dict[str, Any]:
        whole = _texts()[self.error_type]
        return {**whole, **whole["settings"][self.setting]}

    def step(self, n: int, name: str, next_name: str, with_error: bool) -> PartStep:
        """Return the step that finds the next number from `n`."""
        texts, computation = self._texts, _COMPUTATIONS[self.error_type]
        known: dict[str, Any] = {**self.words, "n": n, "N": name, "R": next_name}
        claim = self.wrong if with_error and self.wrong else self.right
        if computation.lead:
            known["x"] = computation.lead(known)
        known["v"] = computation.claims[claim](known)
        known["r"] = computation.join(known)
        sentences = [texts.get("lead"), texts["claims"][claim], texts["join"]]
        drawn = [
            wordings[place % len(wordings)].format(**known)
            for wordings, place in zip(sentences, self.wordings, strict=True)
            if wordings
        ]
        return PartStep(" ".join(drawn), known["r"])


def themes() -> list[tuple[str, int]]:
    """Return all that parts can be about: their error types, each with its themes by number."""
    return [
        (kind, theme) for kind, about in _texts().items() for theme in range(len(about["themes"]))
    ]


def draw_part(error_type: str, theme: int, random: Random, with_error: bool) -> Part:
    """Draw a part. Its claim is drawn in the same way whether it is to be right or wrong."""
    about = _texts()[error_type]
    settings = about["settings"]
    wrong = [(name, claim) for name, each in settings.items() for claim in each["wrong"]]
    claims = sorted({claim for _, claim in wrong})
    claim = random.choice(claims)
    if with_error:
        setting = random.choice([name for name, wrong_claim in wrong if wrong_claim == claim])
    else:
        # Settings whose right claim is never wrong elsewhere occur, too, but less often.
        rest = sorted({each["right"] for each in settings.values()} - set(claims))
        claim = random.choice(rest) if rest and random.random() < 1 / (2 * len(claims)) else claim
        setting = next(name for name, each in settings.items() if each["right"] == claim)
    return Part(
        error_type,
        setting,
        settings[setting]["right"],
        claim if with_error else None,
        {**about["themes"][theme], **_COMPUTATIONS[error_type].draw(random)},
        (random.randrange(_WORDINGS), random.randrange(_WORDINGS), random.randrange(_WORDINGS)),
    )


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
