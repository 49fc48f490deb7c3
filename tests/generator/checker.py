"""An independent check of generated solutions: reads problems and steps, and computes again.

Nothing of the generator is imported. A problem's text gives a rule for every quantity. A step is
right if it states what the rules give from the problem, and its equation holds. A step follows if
it states what its rule gives from what was stated before, right or not.
"""

import re
from fractions import Fraction

from tests.generator.checker_families import FAMILIES
from tests.generator.checker_numbers import Rules, Statement

AGAIN = re.compile(
    r"^(?:Let me check an earlier result again\.|A second look at an earlier result:|To be sure, "
    r"once more:|We go over an earlier result again\.|One result is worth a second check\.) (.*) "
    r"This is (?:what holds|right|what counts|what stands|what to use)\.$",
    re.S,
)
ANSWER = re.compile(
    r" (?:The|So the|Hence the|This means that the|Therefore the) answer is ([^\n]*)\.$"
)
PART = re.compile(
    r"^(?:Part (\d+): |\(Part (\d+)\) |In part (\d+): |\[Part (\d+)\] |As to part (\d+): )"
)
REMARK = re.compile(
    r"^(?:A remark|Besides this|By the way|As a side note|We also note this): (.*)$", re.S
)


def judged(family, problem, steps):
    """For every step whether it is wrong, and whether it follows from what was stated before it.

    None where nothing can be said. Also the answer that ought to be, and the one that is stated.
    """
    rules = problem_rules(family, problem)
    stated = {}
    wrong, follows = [], []
    for step in steps:
        facts = [_judged_fact(family, line, rules, stated) for line in facts_of(step)]
        wrong.append(_joined(any, [None if fact is None else not fact[0] for fact in facts]))
        follows.append(_joined(all, [None if fact is None else fact[1] for fact in facts]))
    end = ANSWER.search(steps[-1].replace("$", ""))
    return wrong, follows, rules.answer, end[1] if end else None


def _joined(how, parts):
    return None if None in parts else how(parts)


WRITTEN = {"\\times": "×", "\\div": "÷", "\\%": "%", "\\max": "max", "\\min": "min"}
WRITTEN |= {"\\bmod": "mod", "$": "", "\\item ": ""}


def _balanced(formula):
    """Whether a formula is a whole equation: its brackets match, and it starts with a number."""
    return formula.count("(") == formula.count(")") and re.match(
        r"[-(\d]|\\(?:max|min|frac)", formula
    )


def facts_of(step):
    """The facts of a step, in plain writing whatever its style."""
    plain = re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", r"\1/\2", step)
    assert all(_balanced(formula) for formula in re.findall(r"\$([^$]*)\$", plain)), step
    for written, meant in WRITTEN.items():
        plain = plain.replace(written, meant)
    return [re.sub(r"^(?:• |# )", "", line) for line in plain.split("\n")]


def problem_rules(family, problem):
    """The rules of a problem, or of all its parts."""
    if not problem.startswith("This problem has"):
        return FAMILIES[family].rules(problem)
    head, *texts = re.split(r"\n\nPart \d+: ", problem)
    parts = [FAMILIES[family].rules(text) for text in texts]
    joined = Rules({}, {}, "", parts=parts)
    for number, part in enumerate(parts, start=1):
        for name, value in part.given.items():
            joined.given[number, name] = value
        for name, rule in part.rules.items():
            joined.rules[number, name] = _in_part(rule, number)
    ends = [(number, part.asked) for number, part in enumerate(parts, start=1)]
    if "sum of the answers" in head:
        joined.asked = "the sum"
        joined.rules["the sum"] = lambda get: sum(get(end) for end in ends)
    else:
        joined.asked = "the answers"
        joined.rules["the answers"] = lambda get: "; ".join(
            part.show(get(end)) for part, end in zip(parts, ends, strict=True)
        )
    return joined


def _in_part(rule, number):
    return lambda get: rule(lambda name: get((number, name)))


def _judged_fact(family, line, rules, stated):
    """Whether a fact is right, and whether it follows; None if it cannot be read."""
    line = ANSWER.sub("", line)
    label = PART.match(line)
    part = int(next(filter(None, label.groups()))) if label else None
    text = line[label.end() :] if label else line
    again = AGAIN.match(text)
    text = again[1] if again else text

    def key(name):
        return name if part is None else (part, name)

    def true(name):
        return rules.truth(key(name))

    def said(name):
        return stated[key(name)] if key(name) in stated else rules.given[key(name)]

    if remark := REMARK.match(text):
        names = rules.parts[part - 1].names if part else None
        try:
            return tuple(remark_is_valid(remark[1], names, get) for get in (true, said))
        except KeyError:
            return None
    if part is None and rules.parts:
        statement = _final(text)
    else:
        own = rules.parts[part - 1] if rules.parts else rules
        statement = FAMILIES[family].read(text, own)
    if statement is None:
        return None
    name, value, holds = statement
    rule = rules.rules[key(name)]
    right = rules.truth(key(name)) == value and holds(true)

    def local(wanted):
        return stated[wanted] if wanted in stated else rules.given[wanted]

    try:
        follows = rule(local) == value and holds(said)
    except (ArithmeticError, LookupError, ValueError):
        follows = False
    stated[key(name)] = value
    return right, follows


def _final(text):
    if found := re.search(r"(?i)the answers: (.*)\.$", text):
        return Statement("the answers", found[1], lambda get: True)
    return FAMILIES["word_problems"].read(text, Rules({}, {"the sum": None}, "the sum"))


def remark_is_valid(text, names, get):
    """Whether the conclusion of a remark follows from what it says."""
    n = [int(number) for number in re.findall(r"\d+", text)]
    if text.startswith("adding"):
        by, name, total, many, few, total_again, first, second = re.fullmatch(
            r"adding (\d+) to (.*) gives (-?\d+)\. Every multiple of (\d+) is a multiple of (\d+)"
            r"\. As (-?\d+) is a multiple of (\d+), it is a multiple of (\d+)\.",
            text,
        ).groups()
        premises = _value(name, names, get) + int(by) == int(total) and total == total_again
        rule = int(many) % int(few) == 0
        return premises and rule and int(total) % int(first) == 0 and (first, second) == (many, few)
    if text.startswith("let S"):
        factor, how, number, name, again, back = re.fullmatch(
            r"let S = (\d+), and let T be the result of (subtracting|adding) (\d+) (?:from|to) "
            r"(.*)\. Then S × T = (\d+) × T, and dividing both sides by T gives S = (\d+) back\.",
            text,
        ).groups()
        term = _value(name, names, get) + int(number) * (1 if how == "adding" else -1)
        return factor == again == back and term != 0
    if text.startswith("the primes"):
        primes, numbers = n[:3], n[3:6]
        assert all(p in (2, 3, 5, 7) for p in primes)
        divides = all(number % prime == 0 for prime, number in zip(primes, numbers, strict=True))
        return divides and len(set(primes)) == 1
    if text.startswith("a whole number leaves"):
        listed, by = (
            re.match(r"a whole number leaves the remainder (.*) when .* by (\d+), ", text)[1],
            int(re.search(r"divided by (\d+)", text)[1]),
        )
        assert n.count(by) >= 4
        return {int(case) for case in re.findall(r"\d+", listed)} == set(range(by))
    if "By induction it holds" in text:
        number, one, by, base, value = n[:5]
        start = int(re.search(r"n ≥ (\d+)\.$", text)[1])
        held = int(re.search(r"k ≥ (\d+)", text)[1])
        shown = number**base - 1 == value and value % by == 0 and one == 1 and by == number - 1
        return shown and held == base <= start
    factor, bound, number = re.fullmatch(
        r"n\^2 [>≥] (\d+)n holds for every whole n ≥ (\d+)\. With n = (\d+) we get .*", text
    ).groups()
    strict = ">" in text
    holds = all(_more(each, int(factor), strict) for each in range(int(bound), 1000))
    return holds and int(number) >= int(bound)


def _more(number, factor, strict):
    return number**2 > factor * number if strict else number**2 >= factor * number


def _value(name, names, get):
    """The value of a quantity, or of a product of two numbers."""
    if product := re.fullmatch(r"(\d+) × (\d+)", name):
        return int(product[1]) * int(product[2])
    return get(_name(name, names))


def _name(name, names):
    found = names.fullmatch(name)
    assert found, name
    return found[0].lower()


def equation_holds(text):
    """Whether the equation in a text holds; None if there is none."""
    from tests.generator.checker_numbers import equation_in, value_of

    found = equation_in(text)
    return None if found is None else value_of(found[0]) == Fraction(found[1])
