"""Ends of worked solutions in which an error can be made: cases and theorems.

Each continues a solution that found a number N: two steps that set something up, the step in which
the error can be made, one that follows from it, and the answer. Steps are nodes of the generator's
graph, so whatever follows from the error is computed from it.
"""

from random import Random

from misstep.forge._offline_tail import Tail, answer, step, tail
from misstep.generator import Ref, Slip


def invalid_generalization(random: Random, n: int, endings: int) -> Tail:
    """Rows that grow at first, taken to grow for ever."""
    grow, times, extra = random.randrange(2, 6), random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"A wall has N tiles in its first row. Rows 2, 3 and 4 each have {grow} tiles more than "
        "the row before; rows 5 and 6 are as long as row 4. What is the number of tiles in rows 1 "
        f"to 6 times {times}, plus {extra}?"
    )
    right = step(
        lambda v: 2 * v, "Rows 5 and 6 are as long as row 4: together 2 × {0} = {r} tiles."
    )
    wrong = step(
        lambda v, d: 2 * v + 3 * d,
        "Rows 2, 3 and 4 are each {1} longer than the row before, so this is how rows go on: rows "
        "5 and 6 together have {0} + {1} + {0} + 2 × {1} = {r} tiles.",
    )
    fourth = step(lambda n, d: n + 3 * d, "Row 4 has {0} + 3 × {1} = {r} tiles.")
    first = step(lambda n, d: 4 * n + 6 * d, "Rows 1 to 4 have 4 × {0} + 6 × {1} = {r} tiles.")
    total = step(lambda a, b: a + b, "All six rows have {0} + {1} = {r} tiles.")
    nodes = [
        (fourth, (n, grow)),
        (first, (n, grow)),
        (right, (Ref(0),)),
        (total, (Ref(1), Ref(2))),
        *answer(times, extra, endings),
    ]
    slip = Slip("invalid_generalization", wrong, (Ref(0), grow))
    return tail(question, nodes, slip, "Rows grow up to row 4; from row 5 on they do not.")


def theorem_misapplication(random: Random, n: int, endings: int) -> Tail:
    """The Pythagorean theorem in a triangle without a right angle."""
    a, b = random.randrange(3, 15), random.randrange(3, 15)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"A triangle has sides a = {a} and b = {b} with an angle of 60° between them, and a third "
        f"side c. What is (c² + N) times {times}, plus {extra}?"
    )
    right = step(
        lambda x, y, z: x + y - z,
        "By the law of cosines for 60°, c² = a² + b² - a × b, which is {0} + {1} - {2} = {r}.",
    )
    wrong = step(
        lambda x, y: x + y,
        "By the Pythagorean theorem, c² = a² + b², which is {0} + {1} = {r}.",
    )
    nodes = [
        (step(lambda a: a * a, "The square of side a is {0} × {0} = {r}."), (a,)),
        (step(lambda b: b * b, "The square of side b is {0} × {0} = {r}."), (b,)),
        (right, (Ref(0), Ref(1), a * b)),
        (step(lambda c, n: c + n, "With N added we have {0} + {1} = {r}."), (Ref(2), n)),
        *answer(times, extra, endings),
    ]
    slip = Slip("theorem_misapplication", wrong, (Ref(0), Ref(1)))
    return tail(question, nodes, slip, "The theorem needs a right angle; here the angle is 60°.")


def incomplete_case_analysis(random: Random, n: int, endings: int) -> Tail:
    """One of two cases of an absolute value."""
    d, q = random.randrange(2, 12), random.randrange(5, 40)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"Add up all numbers x with |x - N| = {d}, and add {q} twice. What is the result times "
        f"{times}, plus {extra}?"
    )
    right = step(
        lambda u, n, d: u + n - d,
        "For x less than {1} it says {1} - x = {2}, so x = {1} - {2}; all such x add up to "
        "{0} + {1} - {2} = {r}.",
    )
    wrong = step(
        lambda u, n, d: u,
        "Since x - {1} is to be {2}, this x satisfies the equation, and all such x add up to {r}.",
    )
    nodes = [
        (step(lambda q: 2 * q, "What is added in the end is 2 × {0} = {r}."), (q,)),
        (
            step(
                lambda n, d: n + d,
                "For x not less than {0} the equation says x - {0} = {1}, so x = {0} + {1} = {r}.",
            ),
            (n, d),
        ),
        (right, (Ref(1), n, d)),
        (step(lambda s, q: s + q, "Together that is {0} + {1} = {r}."), (Ref(2), Ref(0))),
        *answer(times, extra, endings),
    ]
    slip = Slip("incomplete_case_analysis", wrong, (Ref(1), n, d))
    return tail(question, nodes, slip, "The case x < N, which gives a second x, is left out.")


def circular_reasoning(random: Random, n: int, endings: int) -> Tail:
    """Two numbers that are to be compared, taken to be equal."""
    m, k = random.randrange(4, 12), random.randrange(5, 15)
    gone, more = random.randrange(2, 9), random.randrange(4, 25)
    times, extra = random.randrange(2, 5), random.randrange(3, 20)
    question = (
        f"Ana has N stamps and buys {more} more. Bea had {m} boxes of {k} stamps each and gave "
        f"{gone} stamps away. By how many stamps do they now differ? Give the difference times "
        f"{times}, plus {extra}."
    )
    right = step(lambda b, g: b - g, "Bea gave {1} away and now has {0} - {1} = {r} stamps.")
    wrong = step(
        lambda b, a: a,
        "The comparison shows how Bea's {0} stamps relate to Ana's {1}: as the two come out even, "
        "Bea now has {r} stamps.",
    )
    nodes = [
        (step(lambda n, e: n + e, "Ana now has {0} + {1} = {r} stamps."), (n, more)),
        (step(lambda m, k: m * k, "Bea had {0} × {1} = {r} stamps."), (m, k)),
        (right, (Ref(1), gone)),
        (
            step(
                lambda a, b: abs(a - b),
                "Ana has {0} and Bea has {1} stamps, so they differ by {r}.",
            ),
            (Ref(0), Ref(2)),
        ),
        *answer(times, extra, endings),
    ]
    slip = Slip("circular_reasoning", wrong, (Ref(1), Ref(0)))
    return tail(question, nodes, slip, "That they come out even is what is to be found out.")
