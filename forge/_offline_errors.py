"""The errors of the offline injector: for each error type, steps in which the error can happen.

Each function continues a solution that found a number N. It returns two steps that prepare, the
step that can be wrong, and one step that follows from it. `continue_solution` adds the final steps.
All steps are nodes of the generator's graph, so the effect of the error is computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from misstep.generator import Operation, Ref, Sheet, Slip

ERROR_STEP = 2
"""The index of the wrong step in a continuation."""
FINAL_STEPS = (1, 2, 3)
"""The possible numbers of final steps, so that errors have various distances from the end."""

Step = tuple[Operation, tuple[Any, ...]]
"""A computation and its operands."""


@dataclass(frozen=True)
class ErrorCase:
    """A question about N, the steps that answer it, and the error."""

    question: str
    """With the fields {times} and {extra}: the last two numbers of the question."""
    steps: list[Step]
    wrong: Step
    """The step with the error."""
    flaw: str
    """Why the reasoning of the wrong step does not hold."""


@dataclass(frozen=True)
class Continuation:
    """A complete question, the graph that answers it, and the error."""

    question: str
    sheet: Sheet
    slip: Slip
    flaw: str


def continue_solution(error_type: str, random: Random, n: int, final_steps: int) -> Continuation:
    """Return a continuation of a solution that found N.

    Args:
        error_type: The type of the error.
        random: Draws the numbers.
        n: The number N.
        final_steps: The number of final steps: 1, 2 or 3.
    """
    case = ERROR_CASES[error_type](random, n)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    sheet = Sheet()
    for operation, operands in [*case.steps, *_final_steps(times, extra, final_steps)]:
        sheet.add("", operation, operands, ("{expr}",))
    question = case.question.format(times=times, extra=extra)
    return Continuation(question, sheet, Slip(error_type, *case.wrong), case.flaw)


def _step(run: Callable[..., Any], text: str, *operands: object) -> Step:
    """Return a step. In its text, {0}, {1} … are the operands and {r} is the result."""
    return Operation(run, lambda *given: text.format(*given, r=run(*given))), operands


_ASKED = "The value that was asked for is "
_BOXED = "$\\boxed{{{r}}}$."


def _final_steps(times: int, extra: int, count: int) -> list[Step]:
    multiplied = _step(lambda a, b: a * b, "We multiply: {0} × {1} = {r}.", Ref(3), times)
    if count == 1:
        text = f"{_ASKED}{{0}} × {{1}} + {{2}}, which is {_BOXED}"
        return [_step(lambda a, b, c: a * b + c, text, Ref(3), times, extra)]
    if count == 2:
        text = f"{_ASKED}{{0}} + {{1}}, which is {_BOXED}"
        return [multiplied, _step(lambda a, b: a + b, text, Ref(4), extra)]
    added = _step(lambda a, b: a + b, "We add: {0} + {1} = {r}.", Ref(4), extra)
    return [multiplied, added, _step(lambda a: a, _ASKED + _BOXED, Ref(5))]


def invalid_generalization(random: Random, n: int) -> ErrorCase:
    """Rows that grow at first are assumed to grow further."""
    grow = random.randrange(2, 6)
    return ErrorCase(
        f"A wall has N tiles in its first row. Rows 2, 3 and 4 each have {grow} tiles more than "
        "the row before; rows 5 and 6 are as long as row 4. What is the number of tiles in rows 1 "
        "to 6 times {times}, plus {extra}?",
        [
            _step(lambda n, d: n + 3 * d, "Row 4 has {0} + 3 × {1} = {r} tiles.", n, grow),
            _step(
                lambda n, d: 4 * n + 6 * d,
                "Rows 1 to 4 have 4 × {0} + 6 × {1} = {r} tiles.",
                n,
                grow,
            ),
            _step(
                lambda v: 2 * v,
                "Rows 5 and 6 are as long as row 4: together 2 × {0} = {r} tiles.",
                Ref(0),
            ),
            _step(lambda a, b: a + b, "All six rows have {0} + {1} = {r} tiles.", Ref(1), Ref(2)),
        ],
        _step(
            lambda v, d: 2 * v + 3 * d,
            "Rows 2, 3 and 4 are each {1} longer than the row before, so this is how rows go on: "
            "rows 5 and 6 together have {0} + {1} + {0} + 2 × {1} = {r} tiles.",
            Ref(0),
            grow,
        ),
        "Rows grow up to row 4; from row 5 on they do not.",
    )


def theorem_misapplication(random: Random, n: int) -> ErrorCase:
    """The Pythagorean theorem is used in a triangle without a right angle."""
    a, b = random.randrange(3, 15), random.randrange(3, 15)
    return ErrorCase(
        f"A triangle has sides a = {a} and b = {b} with an angle of 60° between them, and a third "
        "side c. What is (c² + N) times {times}, plus {extra}?",
        [
            _step(lambda a: a * a, "The square of side a is {0} × {0} = {r}.", a),
            _step(lambda b: b * b, "The square of side b is {0} × {0} = {r}.", b),
            _step(
                lambda x, y, z: x + y - z,
                "By the law of cosines for 60°, c² = a² + b² - a × b, which is "
                "{0} + {1} - {2} = {r}.",
                Ref(0),
                Ref(1),
                a * b,
            ),
            _step(lambda c, n: c + n, "With N added we have {0} + {1} = {r}.", Ref(2), n),
        ],
        _step(
            lambda x, y: x + y,
            "By the Pythagorean theorem, c² = a² + b², which is {0} + {1} = {r}.",
            Ref(0),
            Ref(1),
        ),
        "The theorem needs a right angle; here the angle is 60°.",
    )


def incomplete_case_analysis(random: Random, n: int) -> ErrorCase:
    """One of the two cases of an absolute value is left out."""
    d, q = random.randrange(2, 12), random.randrange(5, 40)
    return ErrorCase(
        f"Add up all numbers x with |x - N| = {d}, and add {q} twice. What is the result times "
        "{times}, plus {extra}?",
        [
            _step(lambda q: 2 * q, "What is added in the end is 2 × {0} = {r}.", q),
            _step(
                lambda n, d: n + d,
                "For x not less than {0} the equation says x - {0} = {1}, so x = {0} + {1} = {r}.",
                n,
                d,
            ),
            _step(
                lambda u, n, d: u + n - d,
                "For x less than {1} it says {1} - x = {2}, so x = {1} - {2}; all such x add up to "
                "{0} + {1} - {2} = {r}.",
                Ref(1),
                n,
                d,
            ),
            _step(lambda s, q: s + q, "Together that is {0} + {1} = {r}.", Ref(2), Ref(0)),
        ],
        _step(
            lambda u, n, d: u,
            "Since x - {1} is to be {2}, this x satisfies the equation, and all such x add up to "
            "{r}.",
            Ref(1),
            n,
            d,
        ),
        "The case x < N, which gives a second x, is left out.",
    )


def circular_reasoning(random: Random, n: int) -> ErrorCase:
    """Two numbers that are to be compared are assumed to be equal."""
    m, k = random.randrange(4, 12), random.randrange(5, 15)
    gone, more = random.randrange(2, 9), random.randrange(4, 25)
    return ErrorCase(
        f"Ana has N stamps and buys {more} more. Bea had {m} boxes of {k} stamps each and gave "
        f"{gone} stamps away. By how many stamps do they now differ? Give the difference times "
        "{times}, plus {extra}.",
        [
            _step(lambda n, e: n + e, "Ana now has {0} + {1} = {r} stamps.", n, more),
            _step(lambda m, k: m * k, "Bea had {0} × {1} = {r} stamps.", m, k),
            _step(
                lambda b, g: b - g,
                "Bea gave {1} away and now has {0} - {1} = {r} stamps.",
                Ref(1),
                gone,
            ),
            _step(
                lambda a, b: abs(a - b),
                "Ana has {0} and Bea has {1} stamps, so they differ by {r}.",
                Ref(0),
                Ref(2),
            ),
        ],
        _step(
            lambda b, a: a,
            "The comparison shows how Bea's {0} stamps relate to Ana's {1}: as the two come out "
            "even, Bea now has {r} stamps.",
            Ref(1),
            Ref(0),
        ),
        "That they come out even is what is to be found out.",
    )


def false_equivalence(random: Random, n: int) -> ErrorCase:
    """The multiples of a number are counted as the multiples of its double."""
    small, more = random.choice((3, 5, 7)), random.randrange(20, 90)
    double = 2 * small
    return ErrorCase(
        f"Count the multiples of {small} and the multiples of 10 from 1 to N + {more}, and add the "
        "two counts. What is the sum times {times}, plus {extra}?",
        [
            _step(lambda n, t: n + t, "The numbers go from 1 to {0} + {1} = {r}.", n, more),
            _step(
                lambda m: m // 10,
                "Every tenth number is a multiple of 10: up to {0} there are {r} of them.",
                Ref(0),
            ),
            _step(
                lambda m, s: m // s,
                "Every number that {1} divides counts: {0} divided by {1} and rounded down, there "
                "are {r} multiples of {1}.",
                Ref(0),
                small,
            ),
            _step(lambda a, b: a + b, "The two counts add up to {0} + {1} = {r}.", Ref(2), Ref(1)),
        ],
        _step(
            lambda m, s, d: m // d,
            "Every multiple of {2} is a multiple of {1}, so the multiples of {1} are the multiples "
            "of {2}: {0} divided by {2} and rounded down, there are {r} of them.",
            Ref(0),
            small,
            double,
        ),
        f"A multiple of {small} need not be a multiple of {double}: only the converse holds.",
    )


def domain_restriction_violation(random: Random, n: int) -> ErrorCase:
    """A root is accepted at which the denominator is zero."""
    p, q = random.sample(range(2, 15), 2)
    more = random.randrange(3, 30)
    return ErrorCase(
        f"Add up all solutions x of (x - {p})(x - {q}) / (x - {p}) = 0, and add N + {more}. What "
        "is the result times {times}, plus {extra}?",
        [
            _step(lambda n, t: n + t, "What is added in the end is {0} + {1} = {r}.", n, more),
            _step(
                lambda p, q: (p, q),
                "The numerator is zero where one of its factors is, at x = {0} and at x = {1}.",
                p,
                q,
            ),
            _step(
                lambda p, q: q,
                "The denominator is zero at x = {0}, where the fraction is not defined; so x = {1} "
                "is the one solution, and the sum of the solutions is {r}.",
                p,
                q,
            ),
            _step(lambda s, a: s + a, "Together that is {0} + {1} = {r}.", Ref(2), Ref(0)),
        ],
        _step(
            lambda p, q: p + q,
            "Multiplying by x - {0} leaves (x - {0})(x - {1}) = 0, which x = {0} and x = {1} "
            "satisfy; so the sum of the solutions is {0} + {1} = {r}.",
            p,
            q,
        ),
        f"At x = {p} the fraction is not defined: x - {p} is zero.",
    )


def quantifier_confusion(random: Random, n: int) -> ErrorCase:
    """A statement about one of several is used for all of them."""
    m, k, e = random.randrange(3, 9), random.randrange(4, 20), random.randrange(3, 15)
    return ErrorCase(
        f"Each of {m} machines makes at least {k} parts a day, and at least one of them makes at "
        f"least {k + e}. Take the least number of parts that they can make together in a day, and "
        "add N. What is the result times {times}, plus {extra}?",
        [
            _step(lambda m: m - 1, "Beside any one machine there are {0} - 1 = {r} others.", m),
            _step(lambda k, e: k + e, "One machine makes at least {0} + {1} = {r} parts.", k, e),
            _step(
                lambda high, rest, k: high + rest * k,
                "One machine must make {0} parts and the other {1} need not make more than {2} "
                "each: at least {0} + {1} × {2} = {r} parts.",
                Ref(1),
                Ref(0),
                k,
            ),
            _step(lambda s, n: s + n, "With N added we have {0} + {1} = {r}.", Ref(2), n),
        ],
        _step(
            lambda high, m: high * m,
            "There is a machine that makes at least {0} parts, so with {1} machines that make at "
            "least {0} parts there are at least {1} × {0} = {r} parts.",
            Ref(1),
            m,
        ),
        "There is one such machine; not every machine is one.",
    )


def invalid_substitution(random: Random, n: int) -> ErrorCase:
    """A square is replaced by a variable, which then becomes negative."""
    a, more = random.randrange(2, 7), random.randrange(40, 90)
    return ErrorCase(
        f"For real x take the least value of x⁴ + {2 * a}x² + c, where c = N + {more}, and add "
        f"{a}. What is the result times {{times}}, plus {{extra}}?",
        [
            _step(lambda n, t: n + t, "The constant c is {0} + {1} = {r}.", n, more),
            _step(
                lambda c, d: c,
                "We put t = x², so that the expression reads t² + {1}t + {0}.",
                Ref(0),
                2 * a,
            ),
            _step(
                lambda c, a: c,
                "Since t is a square, it is not negative, and the expression grows with t: it is "
                "least at t = 0, where it is {r}.",
                Ref(1),
                a,
            ),
            _step(lambda v, a: v + a, "With {1} added we have {0} + {1} = {r}.", Ref(2), a),
        ],
        _step(
            lambda c, a: c - a * a,
            "In t this is (t + {1})² + {0} - {1} × {1}, which is least at t = -{1}, where it is "
            "{0} - {1} × {1} = {r}.",
            Ref(1),
            a,
        ),
        f"t = x² cannot be -{a}: the substitution holds for t ≥ 0.",
    )


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
