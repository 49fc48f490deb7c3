"""The errors of the offline injector: for each error type, steps in which the error can happen.

Each function below continues a solution that found a number N. It returns the numbers of the
question, two steps that prepare, the step that can be wrong, one step that follows from it, and the
wrong step. The texts are in offline_errors.yaml. All steps are nodes of the generator's graph, so
the effect of the error is computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from misstep.generator import Operation, Ref, Sheet, Slip

ERROR_STEP = 2
"""The index of the wrong step in a continuation."""
FINAL_STEPS = (1, 2, 3)
"""The possible numbers of final steps, so that errors have various distances from the end."""

Step = tuple[tuple[Any, ...], Callable[..., Any]]
"""The operands of a step, and its computation."""
ErrorCase = tuple[dict[str, int], list[Step], Step]
"""The numbers of the question, the right steps, and the wrong step."""


@dataclass(frozen=True)
class Continuation:
    """A question about N, the graph that answers it, and the error."""

    question: str
    sheet: Sheet
    slip: Slip
    flaw: str


@cache
def _texts() -> dict[str, Any]:
    import yaml

    content = (files("misstep.forge") / "offline_errors.yaml").read_text(encoding="utf-8")
    texts: dict[str, Any] = yaml.safe_load(content)
    return texts


def continue_solution(error_type: str, random: Random, n: int, final_steps: int) -> Continuation:
    """Return a continuation, with 1 to 3 final steps, of a solution that found N."""
    numbers, steps, wrong = ERROR_CASES[error_type](random, n)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    texts = _texts()[error_type]
    sheet = Sheet()
    for (operands, run), text in [
        *zip(steps, texts["steps"], strict=True),
        *_final_steps(times, extra, final_steps),
    ]:
        sheet.add("", _operation(run, text), operands, ("{expr}",))
    return Continuation(
        texts["question"].format(**numbers, times=times, extra=extra),
        sheet,
        Slip(error_type, _operation(wrong[1], texts["wrong"]), wrong[0]),
        texts["flaw"].format(**numbers),
    )


def _operation(run: Callable[..., Any], text: str) -> Operation:
    return Operation(run, lambda *given: text.format(*given, r=run(*given)))


_ASKED = "The value that was asked for is "
_BOXED = "$\\boxed{{{r}}}$."


def _final_steps(times: int, extra: int, count: int) -> list[tuple[Step, str]]:
    multiplied: Step = (Ref(3), times), lambda a, b: a * b
    added: Step = (Ref(4), extra), lambda a, b: a + b
    if count == 1:
        step: Step = (Ref(3), times, extra), lambda a, b, c: a * b + c
        return [(step, f"{_ASKED}{{0}} × {{1}} + {{2}}, which is {_BOXED}")]
    first = (multiplied, "We multiply: {0} × {1} = {r}.")
    if count == 2:
        return [first, (added, f"{_ASKED}{{0}} + {{1}}, which is {_BOXED}")]
    last: Step = (Ref(5),), lambda a: a
    return [first, (added, "We add: {0} + {1} = {r}."), (last, _ASKED + _BOXED)]


def invalid_generalization(random: Random, n: int) -> ErrorCase:
    """Rows that grow at first are assumed to grow further."""
    grow = random.randrange(2, 6)
    steps: list[Step] = [
        ((n, grow), lambda n, d: n + 3 * d),
        ((n, grow), lambda n, d: 4 * n + 6 * d),
        ((Ref(0),), lambda row: 2 * row),
        ((Ref(1), Ref(2)), lambda a, b: a + b),
    ]
    return {"grow": grow}, steps, ((Ref(0), grow), lambda row, d: 2 * row + 3 * d)


def theorem_misapplication(random: Random, n: int) -> ErrorCase:
    """The Pythagorean theorem is used in a triangle without a right angle."""
    a, b = random.randrange(3, 15), random.randrange(3, 15)
    steps: list[Step] = [
        ((a,), lambda a: a * a),
        ((b,), lambda b: b * b),
        ((Ref(0), Ref(1), a * b), lambda x, y, z: x + y - z),
        ((Ref(2), n), lambda c, n: c + n),
    ]
    return {"a": a, "b": b}, steps, ((Ref(0), Ref(1)), lambda x, y: x + y)


def incomplete_case_analysis(random: Random, n: int) -> ErrorCase:
    """One of the two cases of an absolute value is left out."""
    d, q = random.randrange(2, 12), random.randrange(5, 40)
    steps: list[Step] = [
        ((q,), lambda q: 2 * q),
        ((n, d), lambda n, d: n + d),
        ((Ref(1), n, d), lambda upper, n, d: upper + n - d),
        ((Ref(2), Ref(0)), lambda s, q: s + q),
    ]
    return {"d": d, "q": q}, steps, ((Ref(1), n, d), lambda upper, n, d: upper)


def circular_reasoning(random: Random, n: int) -> ErrorCase:
    """Two numbers that are to be compared are assumed to be equal."""
    m, k = random.randrange(4, 12), random.randrange(5, 15)
    gone, more = random.randrange(2, 9), random.randrange(4, 25)
    steps: list[Step] = [
        ((n, more), lambda n, e: n + e),
        ((m, k), lambda m, k: m * k),
        ((Ref(1), gone), lambda b, g: b - g),
        ((Ref(0), Ref(2)), lambda a, b: abs(a - b)),
    ]
    numbers = {"m": m, "k": k, "gone": gone, "more": more}
    return numbers, steps, ((Ref(1), Ref(0)), lambda b, a: a)


def false_equivalence(random: Random, n: int) -> ErrorCase:
    """The multiples of a number are counted as the multiples of its double."""
    small, more = random.choice((3, 5, 7)), random.randrange(20, 90)
    steps: list[Step] = [
        ((n, more), lambda n, t: n + t),
        ((Ref(0),), lambda m: m // 10),
        ((Ref(0), small), lambda m, s: m // s),
        ((Ref(2), Ref(1)), lambda a, b: a + b),
    ]
    numbers = {"small": small, "double": 2 * small, "more": more}
    return numbers, steps, ((Ref(0), small, 2 * small), lambda m, s, d: m // d)


def domain_restriction_violation(random: Random, n: int) -> ErrorCase:
    """A root is accepted at which the denominator is zero."""
    p, q = random.sample(range(2, 15), 2)
    more = random.randrange(3, 30)
    steps: list[Step] = [
        ((n, more), lambda n, t: n + t),
        ((p, q), lambda p, q: (p, q)),
        ((p, q), lambda p, q: q),
        ((Ref(2), Ref(0)), lambda s, a: s + a),
    ]
    return {"p": p, "q": q, "more": more}, steps, ((p, q), lambda p, q: p + q)


def quantifier_confusion(random: Random, n: int) -> ErrorCase:
    """A statement about one of several is used for all of them."""
    m, k, e = random.randrange(3, 9), random.randrange(4, 20), random.randrange(3, 15)
    steps: list[Step] = [
        ((m,), lambda m: m - 1),
        ((k, e), lambda k, e: k + e),
        ((Ref(1), Ref(0), k), lambda high, rest, k: high + rest * k),
        ((Ref(2), n), lambda s, n: s + n),
    ]
    return {"m": m, "k": k, "high": k + e}, steps, ((Ref(1), m), lambda high, m: high * m)


def invalid_substitution(random: Random, n: int) -> ErrorCase:
    """A square is replaced by a variable, which then becomes negative."""
    a, more = random.randrange(2, 7), random.randrange(40, 90)
    steps: list[Step] = [
        ((n, more), lambda n, t: n + t),
        ((Ref(0), 2 * a), lambda c, d: c),
        ((Ref(1), a), lambda c, a: c),
        ((Ref(2), a), lambda v, a: v + a),
    ]
    return {"a": a, "twice": 2 * a, "more": more}, steps, ((Ref(1), a), lambda c, a: c - a * a)


ERROR_CASES: dict[str, Callable[[Random, int], ErrorCase]] = {
    make.__name__: make
    for make in (
        invalid_generalization,
        theorem_misapplication,
        incomplete_case_analysis,
        circular_reasoning,
        false_equivalence,
        domain_restriction_violation,
        quantifier_confusion,
        invalid_substitution,
    )
}
"""The cases by error type."""
