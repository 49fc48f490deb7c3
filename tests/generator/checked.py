"""The full check of generated solutions: `python -m tests.generator.checked 10000`.

Prints by family how many rows the independent checker decides otherwise than the generator, how
often a calculator finds the wrong step, and what a classifier that does not reason finds.
"""

import sys
from collections import Counter
from time import process_time

from misstep.arithmetic import false_equations
from misstep.generator import FAMILIES, solutions
from tests.generator.checker import judged
from tests.generator.classifier import Look

LENGTHS = (None, "4-8", "12-20")
HARD = 10
"""One row in so many is a long one."""


def problem_of(one):
    """What the checker says against a solution, or None."""
    wrong, follows, answer, stated = judged(one.family, one.problem, one.steps)
    if None in wrong or None in follows:
        return "a step cannot be read"
    first = wrong.index(True) if True in wrong else -1
    if first != one.label:
        return f"the first wrong step is {first}"
    loose = [place for place, follow in enumerate(follows) if not follow]
    if loose[:1] != ([one.label] if one.label >= 0 else []):
        return f"step {loose[0]} does not follow"
    # The second of two errors that cancel out is the one further step that does not follow.
    if len(loose[1:]) > (one.outcome == "cancelled"):
        return f"steps {loose[1:]} do not follow"
    if answer != one.answer or (stated == answer) is not one.final_answer_correct:
        return f"the answer ought to be {answer}, and {stated} is stated"
    right, _, _, stated = judged(one.family, one.problem, one.correct_steps)
    if any(right) or stated != answer:
        return "the corrected solution is not right"
    return None


def many(rows):
    """That many solutions of all families, lengths and difficulties; some of them long."""
    short = rows - rows // HARD
    each = short // 90 + 1
    made = 0
    for seed in range(90):
        steps = LENGTHS[seed // 3 % 3]
        for one in solutions(seed, min(each, short - made), difficulty=seed % 3 + 1, steps=steps):
            made += 1
            yield one
        if made == short:
            break
    yield from solutions(90, rows - short, difficulty="4,5")


def calculated(solutions):
    """The share of wrong steps that a calculator finds, by family."""
    found, rows = Counter(), Counter()
    for one in solutions:
        if one.label >= 0:
            said = next((n for n, step in enumerate(one.steps) if false_equations(step)), -1)
            found[one.family] += said == one.label
            rows[one.family] += 1
    return {name: found[name] / rows[name] for name in FAMILIES if rows[name]}


def main(rows):
    """Print the whole check."""
    begun, said, seen = process_time(), Counter(), Counter()
    for one in many(rows):
        seen[one.family, one.difficulty > 3] += 1
        if problem := problem_of(one):
            said[one.family] += 1
            print(f"{one.id} {one.family} difficulty {one.difficulty}: {problem}")
    print(f"{sum(seen.values())} rows, {sum(said.values())} disagreements")
    for name in FAMILIES:
        short, long = seen[name, False], seen[name, True]
        print(f"  {name}: {short} short and {long} long rows, {said[name]} disagreements")
    for difficulty, count in ((2, rows), ("4,5", rows // HARD * 2)):
        made = list(solutions(11, count, difficulty=difficulty))
        print(f"difficulty {difficulty}: found by a calculator")
        shares = calculated(made)
        print("  " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
        print(f"  all families {sum(shares.values()) / len(shares):.1%}")
        look, half = Look(made), count // 2
        for name in ("error_or_correct", "wrong_step"):
            share, chance = getattr(look, name)(half)
            print(f"  {name}, {half} rows each: {share:.1%}, by chance {chance:.1%}")
        found, chance = look.rules(half)
        print("  " + ", ".join(f"{n} {s:.1%}" for n, s in found.items()) + f"; chance {chance:.1%}")
    print(f"{process_time() - begun:.0f} CPU-seconds")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
