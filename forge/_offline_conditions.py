"""Ends of worked solutions in which an error can be made: conditions and quantifiers.

Each continues a solution that found a number N: two steps that set something up, the step in which
the error can be made, one that follows from it, and the answer. Steps are nodes of the generator's
graph, so whatever follows from the error is computed from it.
"""

from random import Random

from misstep.forge._offline_tail import Tail, answer, step, tail
from misstep.generator import Ref, Slip


def false_equivalence(random: Random, n: int, endings: int) -> Tail:
    """Multiples of a number counted as those of its double."""
    small, more = random.choice((3, 5, 7)), random.randrange(20, 90)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    double = 2 * small
    question = (
        f"Count the multiples of {small} and the multiples of 10 from 1 to N + {more}, and add the "
        f"two counts. What is the sum times {times}, plus {extra}?"
    )
    right = step(
        lambda m, s: m // s,
        "Every number that {1} divides counts: {0} divided by {1} and rounded down, there are {r} "
        "multiples of {1}.",
    )
    wrong = step(
        lambda m, s, d: m // d,
        "Every multiple of {2} is a multiple of {1}, so the multiples of {1} are the multiples of "
        "{2}: {0} divided by {2} and rounded down, there are {r} of them.",
    )
    nodes = [
        (step(lambda n, t: n + t, "The numbers go from 1 to {0} + {1} = {r}."), (n, more)),
        (
            step(
                lambda m: m // 10,
                "Every tenth number is a multiple of 10: up to {0} there are {r} of them.",
            ),
            (Ref(0),),
        ),
        (right, (Ref(0), small)),
        (step(lambda a, b: a + b, "The two counts add up to {0} + {1} = {r}."), (Ref(2), Ref(1))),
        *answer(times, extra, endings),
    ]
    slip = Slip("false_equivalence", wrong, (Ref(0), small, double))
    flaw = f"A multiple of {small} need not be a multiple of {double}: only the converse holds."
    return tail(question, nodes, slip, flaw)


def domain_restriction_violation(random: Random, n: int, endings: int) -> Tail:
    """A root at which the denominator vanishes."""
    p, q = random.sample(range(2, 15), 2)
    more, times, extra = random.randrange(3, 30), random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"Add up all solutions x of (x - {p})(x - {q}) / (x - {p}) = 0, and add N + {more}. What "
        f"is the result times {times}, plus {extra}?"
    )
    right = step(
        lambda p, q: q,
        "The denominator is zero at x = {0}, where the fraction is not defined; so x = {1} is the "
        "one solution, and the sum of the solutions is {r}.",
    )
    wrong = step(
        lambda p, q: p + q,
        "Multiplying by x - {0} leaves (x - {0})(x - {1}) = 0, which x = {0} and x = {1} satisfy; "
        "so the sum of the solutions is {0} + {1} = {r}.",
    )
    nodes = [
        (step(lambda n, t: n + t, "What is added in the end is {0} + {1} = {r}."), (n, more)),
        (
            step(
                lambda p, q: (p, q),
                "The numerator is zero where one of its factors is, at x = {0} and at x = {1}.",
            ),
            (p, q),
        ),
        (right, (p, q)),
        (step(lambda s, a: s + a, "Together that is {0} + {1} = {r}."), (Ref(2), Ref(0))),
        *answer(times, extra, endings),
    ]
    slip = Slip("domain_restriction_violation", wrong, (p, q))
    return tail(question, nodes, slip, f"At x = {p} the fraction is not defined: x - {p} is zero.")


def quantifier_confusion(random: Random, n: int, endings: int) -> Tail:
    """What one of several does, taken to be done by each."""
    m, k, e = random.randrange(3, 9), random.randrange(4, 20), random.randrange(3, 15)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"Each of {m} machines makes at least {k} parts a day, and at least one of them makes at "
        f"least {k + e}. Take the least number of parts that they can make together in a day, and "
        f"add N. What is the result times {times}, plus {extra}?"
    )
    right = step(
        lambda high, rest, k: high + rest * k,
        "One machine must make {0} parts and the other {1} need not make more than {2} each: at "
        "least {0} + {1} × {2} = {r} parts.",
    )
    wrong = step(
        lambda high, m: high * m,
        "There is a machine that makes at least {0} parts, so with {1} machines that make at least "
        "{0} parts there are at least {1} × {0} = {r} parts.",
    )
    nodes = [
        (step(lambda m: m - 1, "Beside any one machine there are {0} - 1 = {r} others."), (m,)),
        (
            step(lambda k, e: k + e, "One machine makes at least {0} + {1} = {r} parts."),
            (k, e),
        ),
        (right, (Ref(1), Ref(0), k)),
        (step(lambda s, n: s + n, "With N added we have {0} + {1} = {r}."), (Ref(2), n)),
        *answer(times, extra, endings),
    ]
    slip = Slip("quantifier_confusion", wrong, (Ref(1), m))
    return tail(question, nodes, slip, "There is one such machine; not every machine is one.")


def invalid_substitution(random: Random, n: int, endings: int) -> Tail:
    """A square replaced by a variable that is then let go negative."""
    a, more = random.randrange(2, 7), random.randrange(40, 90)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"For real x take the least value of x⁴ + {2 * a}x² + c, where c = N + {more}, and add "
        f"{a}. What is the result times {times}, plus {extra}?"
    )
    right = step(
        lambda c, a: c,
        "Since t is a square, it is not negative, and the expression grows with t: it is least at "
        "t = 0, where it is {r}.",
    )
    wrong = step(
        lambda c, a: c - a * a,
        "In t this is (t + {1})² + {0} - {1} × {1}, which is least at t = -{1}, where it is "
        "{0} - {1} × {1} = {r}.",
    )
    nodes = [
        (step(lambda n, t: n + t, "The constant c is {0} + {1} = {r}."), (n, more)),
        (
            step(
                lambda c, d: c,
                "We put t = x², so that the expression reads t² + {1}t + {0}.",
            ),
            (Ref(0), 2 * a),
        ),
        (right, (Ref(1), a)),
        (step(lambda v, a: v + a, "With {1} added we have {0} + {1} = {r}."), (Ref(2), a)),
        *answer(times, extra, endings),
    ]
    slip = Slip("invalid_substitution", wrong, (Ref(1), a))
    return tail(question, nodes, slip, f"t = x² cannot be -{a}: the substitution holds for t ≥ 0.")
