"""Families whose steps compute a number: the rules that their problems give."""

import re
from fractions import Fraction

from tests.generator.checker_numbers import (
    NUMBER,
    Rules,
    Statement,
    read_number,
    sentences,
    whole_numbers,
)


def word_problems(problem):
    first, noun = re.search(r"has (\d+) (\w+)\.", problem).groups()

    def name(noun):
        return f"the number of {noun}"

    given, rules = {name(noun): int(first)}, {}
    for sentence in sentences(problem)[1:-1]:
        if found := re.match(r"It has (\d+) (more|fewer) (\w+) than (\w+)\.", sentence):
            by, way, noun, base = found.groups()
            by = int(by) if way == "more" else -int(by)
            rules[name(noun)] = lambda get, by=by, base=base: get(name(base)) + by
        elif found := re.match(r"It has (\d+) times as many (\w+) as (\w+)\.", sentence):
            by, noun, base = found.groups()
            rules[name(noun)] = lambda get, by=int(by), base=base: get(name(base)) * by
        else:
            limit, base, by, way, noun, other = re.match(
                r"If it has more than (\d+) (\w+), it has (\d+) (more|fewer) (\w+) than \w+; "
                r"otherwise \d+ (more|fewer)\.",
                sentence,
            ).groups()
            assert way != other

            def conditional(get, limit=int(limit), base=base, by=int(by), way=way):
                more = (way == "more") == (get(name(base)) > limit)
                return get(name(base)) + (by if more else -by)

            rules[name(noun)] = conditional
    parts = [*given, *rules]
    rules["the total"] = lambda get: sum(get(part) for part in parts)
    return Rules(given, rules, "the total")


def sequences(problem):
    first, difference, growth, by = map(
        int,
        re.search(
            r"term 1 equal to (\d+)\. Difference 1 is (\d+), .* (\d+) more .* divisible by (\d+)",
            problem,
        ).groups(),
    )
    asked = [f"term {number}" for number in re.findall(r"term (\d+)", problem.rpartition(". ")[2])]
    given, rules = {"term 1": first, "difference 1": difference}, {}
    for n in range(1, 30):

        def term(get, n=n):
            now, step = get(f"term {n}"), get(f"difference {n}")
            return now - step if now % by == 0 else now + step

        rules[f"term {n + 1}"] = term
        rules[f"difference {n + 1}"] = lambda get, n=n: get(f"difference {n}") + growth
    rules["the sum"] = lambda get: sum(get(name) for name in asked)
    return Rules(given, rules, "the sum" if len(asked) > 1 else asked[0])


def counting(problem):
    rules = {}
    for number, case in re.findall(r"Case (\d+): ([^.]*)\.", problem):
        n = whole_numbers(case)
        if "rows" in case:
            sign = -1 if "torn up" in case else 1
            count = n[0] * n[1] + sign * sum(n[2:])
        elif "greater than" in case:
            count = len(range(n[0] + 1, n[1] + 1))
        elif "a first and a second" in case:
            count = sum(a != b for a in range(n[0]) for b in range(n[0]))
        elif "both included" in case:
            count = len(range(n[0], n[1] + 1))
        else:
            assert "every pair of people" in case
            count = sum(range(n[0]))
        rules[f"the size of case {number}"] = lambda get, count=count: count
    cases = list(rules)
    subtotals = []
    for number, low, high in re.findall(r"Subtotal (\d+): cases (\d+) to (\d+)", problem):
        own = cases[int(low) - 1 : int(high)]
        subtotals.append(f"subtotal {number}")
        rules[subtotals[-1]] = lambda get, own=own: sum(map(get, own))
    rules["the total"] = lambda get: sum(map(get, subtotals or cases))
    return Rules({}, rules, "the total")


def kinematics(problem):
    given = {"the start": int(re.search(r"starts (\d+) m east", problem)[1])}
    rules, place = {}, "the start"
    legs = re.findall(
        r"Leg (\d+): (\d+) (h|km|hm) (\d+) (?:min at (\d+) m a minute|m) (\w+)", problem
    )
    for number, large, unit, small, speed, way in legs:
        large, small, length = int(large), int(small), f"the length of leg {number}"
        if unit == "h":
            minutes = f"the minutes of leg {number}"
            rules[minutes] = lambda get, a=large, b=small: a * 60 + b
            rules[length] = lambda get, m=minutes, s=int(speed): get(m) * s
        else:
            metres = {"km": 1000, "hm": 100}[unit]
            rules[length] = lambda get, a=large, b=small, m=metres: a * m + b
        sign = 1 if way == "east" else -1
        name = f"the place after leg {number}"
        rules[name] = lambda get, p=place, x=length, s=sign: get(p) + s * get(x)
        place = name
    return Rules(given, rules, place)


def stoichiometry(problem):
    mass, name, molar = re.match(r"(\d+) g of (\w+) are used, at (\d+) g a mole", problem).groups()

    def amount(name):
        return f"the amount of {name} in moles"

    rules = {amount(name): lambda get: Fraction(int(mass), int(molar))}
    kinds = (
        (r"Each mole of (\w+) gives (\d+) moles of (\w+)\.", lambda x, n: x * n[0]),
        (
            r"Every (\d+) moles of (\w+) give (\d+) moles of (\w+)\.",
            lambda x, n: Fraction(x) * n[1] / n[0],
        ),
        (
            r"(\d+) moles of (\w+) are lost; every remaining mole of \2 gives one mole of (\w+)\.",
            lambda x, n: x - n[0],
        ),
        (
            r"Each mole of (\w+) needs one mole of (\w+) to give one mole of (\w+); there are "
            r"(\d+) moles of \2, and \1 that gets none gives no \3\.",
            lambda x, n: min(x, n[0]),
        ),
        (
            r"Each mole of (\w+) gives one mole of (\w+), and a further (\d+) g of \2, at (\d+) g "
            r"a mole, are added\.",
            lambda x, n: x + Fraction(n[0], n[1]),
        ),
        (
            r"Each mole of (\w+) gives one mole of (\w+), and (\d+) further moles of \2 are "
            r"added\.",
            lambda x, n: x + n[0],
        ),
    )
    for sentence in sentences(problem)[1:-2]:
        [(found, compute)] = [
            (found, compute)
            for pattern, compute in kinds
            if (found := re.fullmatch(pattern, sentence))
        ]
        words = [group for group in found.groups() if not group.isdigit()]
        before, name = words[0], words[-1]
        n = [int(group) for group in found.groups() if group.isdigit()]
        rules[amount(name)] = lambda get, b=before, n=n, c=compute: c(get(amount(b)), n)
    weight = int(re.search(r"weighs (\d+) g", problem)[1])
    masses = re.findall(r"(\d+) g of (\w+)(?: are used)?, at (\d+) g a mole", problem)
    assert name not in [other for _, other, _ in masses], "a substance has two molar masses"
    asked = f"the mass of {name} in g"
    rules[asked] = lambda get, name=name: get(amount(name)) * weight
    return Rules({}, rules, asked)


def linear_equations(problem):
    given, rules = {}, {}
    equations, asked = re.match(r"Given (.*), find (\w)\.", problem).groups()
    for equation in equations.split(", "):
        if found := re.match(r"(\w) = (-?\d+)$", equation):
            given[found[1]] = Fraction(found[2])
            continue
        own, name, sign, factor, base, right = re.match(
            r"(\d*)([a-z]) ([+-]) (\d+)([a-z]) = (-?\d+)$", equation
        ).groups()
        product = f"{factor}{base}"
        rules[product] = lambda get, f=int(factor), b=base: f * get(b)
        by = -1 if sign == "+" else 1
        rules[f"{own}{name}"] = lambda get, r=int(right), p=product, by=by: r + by * get(p)
        if own:
            rules[name] = lambda get, own=own, name=name: get(f"{own}{name}") / int(own)
    return Rules(given, rules, asked)


def fractions(problem):
    given = {"the start": Fraction(re.search(rf"contains ({NUMBER}) litre", problem)[1])}
    rules, level = {}, "the start"
    for number, action in re.findall(r"Action (\d+): ([^.]*)\.", problem):
        name = f"the level after action {number}"
        if "doubled" in action:
            rules[name] = lambda get, x=level: get(x) * 2
        else:
            amount = Fraction(re.match(NUMBER, action)[0])
            sign = 1 if "poured in" in action else -1
            if "of what is in" in action:
                part = f"the amount taken out in action {number}"
                rules[part] = lambda get, x=level, a=amount: get(x) * a
                rules[name] = lambda get, x=level, p=part, s=sign: get(x) + s * get(p)
            else:
                rules[name] = lambda get, x=level, a=amount, s=sign: get(x) + s * a
        level = name
    return Rules(given, rules, level)


def percentages(problem):
    given = {"the start": Fraction(re.search(r"A price is (\d+)", problem)[1])}
    rules, price = {}, "the start"
    for number, way, by, rate in re.findall(
        r"Change (\d+): it goes (up|down) by (\d+)(%?)", problem
    ):
        name, sign = f"the price after change {number}", 1 if way == "up" else -1
        if rate:
            part = f"the amount of change {number}"
            rules[part] = lambda get, p=price, by=int(by): get(p) * by / 100
            rules[name] = lambda get, p=price, a=part, s=sign: get(p) + s * get(a)
        else:
            rules[name] = lambda get, p=price, by=int(by), s=sign: get(p) + s * by
        price = name
    return Rules(given, rules, price, lambda x: f"{float(x):.3f}".rstrip("0").rstrip("."))


def probability(problem):
    rules, total = {}, None
    for number, event in re.findall(r"Event (\d+): (.*?)\.(?= Event| What)", problem):
        fractions_named = [Fraction(x) for x in re.findall(r"\d+/\d+", event)]
        n = whole_numbers(event)
        if "bag" in event:
            red, blue = n
            balls = ["red"] * red + ["blue"] * blue
            back = "not put back" not in event
            places = range(len(balls))
            pairs = [(a, b) for a in places for b in places if back or a != b]
            good = sum(balls[a] == balls[b] == "red" for a, b in pairs)
            chance = Fraction(good, len(pairs))
        elif "dice" in event:
            faces = range(1, n[0] + 1)
            same = "at least as much" in event
            good = sum(b > a or (same and a == b) for a in faces for b in faces)
            chance = Fraction(good, n[0] ** 2)
        elif "whole numbers" in event:
            p, q, _, top = n
            chance = Fraction(sum(x % p == 0 or x % q == 0 for x in range(1, top + 1)), top)
        elif "lamps" in event:
            a, b = fractions_named
            if "both of two lamps" in event:
                chance = a * b if "are on, where" in event else (1 - a) * (1 - b)
            else:
                chance = a + b - a * b
        else:
            assert "fair coin" in event
            chance = sum(fractions_named) / 2
        name = f"the probability of event {number}"
        rules[name] = lambda get, chance=chance: chance
        if total is None:
            total = name
        else:
            so_far = f"the expected number that happen among events 1 to {number}"
            rules[so_far] = lambda get, a=total, b=name: get(a) + get(b)
            total = so_far
    if "that do not happen" in problem:
        asked = "the expected number that do not happen"
        count = int(number)
        rules[asked] = lambda get: count - get(total)
        return Rules({}, rules, asked)
    return Rules({}, rules, total)


def modular_arithmetic(problem):
    m = int(re.search(r"x mod (\d+)", problem)[1])
    lines, asked = re.search(r"Given (.*), find (r\d+)\.", problem).groups()
    given, rules = {}, {}
    for line in lines.split(", "):
        name, code = line.split(" = ")
        if code.isdigit():
            given[name] = int(code)
            continue
        inner = re.fullmatch(rf"\((.*)\) mod {m}", code)[1]
        if inner.endswith("^(-1)"):
            base = inner[:-5]
            rules[name] = lambda get, b=base: next(y for y in range(1, m) if get(b) * y % m == 1)
        elif "^" in inner:
            base, power = inner.split("^")
            rules[name] = lambda get, b=base, e=int(power): int(get(b)) ** e % m
        elif found := re.fullmatch(r"(\d+) × \((r\d+) \+ (\d+)\)", inner):
            k, base, c = found.groups()
            rules[name] = lambda get, k=int(k), b=base, c=int(c): k * (get(b) + c) % m
        else:
            rules[name] = lambda get, code=inner: _evaluated(code.split(" "), get) % m
    return Rules(given, rules, asked)


def _evaluated(tokens, get):
    """A sum or product of names and numbers: `3 × r1 + 4`."""
    values = [int(t) if t.isdigit() else get(t) for t in tokens[::2]]
    signs = tokens[1::2]
    if signs[0] == "×":
        values, signs = [values[0] * values[1], *values[2:]], signs[1:]
    total = values[0]
    for sign, value in zip(signs, values[1:], strict=True):
        total = {"+": total + value, "-": total - value}[sign]
    return total


def recurrences(problem):
    u1, u2, mark, factor = re.search(
        r"u\(1\) = (\d+), u\(2\) = (\d+), .* u\(n \+ 1\) = u\(n\) ([+-]) u\(n - 1\) \+ (\d+) × n",
        problem,
    ).groups()
    v1, k, added = map(
        int,
        re.search(r"v\(1\) = (\d+), .* v\(n \+ 1\) = (\d+) × v\(n\) \+ (\d+)", problem).groups(),
    )
    given, rules = {"u(1)": int(u1), "u(2)": int(u2)}, {}
    sign = 1 if mark == "+" else -1
    for n in range(2, 30):

        def term(get, n=n):
            return get(f"u({n})") + sign * get(f"u({n - 1})") + int(factor) * n

        rules[f"u({n + 1})"] = term
        if n > 2:
            before = "u(3)" if n == 3 else f"the sum of u(3) to u({n})"
            name = f"the sum of u(3) to u({n + 1})"
            rules[name] = lambda get, b=before, n=n: get(b) + get(f"u({n + 1})")
    for n in range(1, 9):
        value = v1
        for _ in range(n - 1):
            value = k * value + added
        rules[f"v({n})"] = lambda get, value=value: value
    rules["a formula for v(n)"] = lambda get: True
    first, second = re.search(r"which is (.*) plus (v\(\d+\))\.$", problem).groups()
    rules["the final sum"] = lambda get: get(first) + get(second)
    return Rules(given, rules, "the final sum", about={"v": (v1, k, added)})


def read_recurrence(text, rules):
    if "By induction" not in text:
        return read_number(text, rules)
    v1, k, added = rules.about["v"]
    a, k_said, b, value, base, base_again = map(
        int,
        re.search(
            r"v\(n\) = (\d+) × (\d+)\^\(n - 1\) - (\d+) gives (\d+) for n = (\d+), which is "
            r"v\((\d+)\)",
            text,
        ).groups(),
    )
    held = int(re.search(r"j ≥ (\d+)", text)[1])
    start = int(re.search(r"n ≥ (\d+)\.$", text)[1])
    assert f"v(j + 1) = {k} × v(j) + {added} = {a} × {k}^j - {b}" in text
    true = v1
    for _ in range(base - 1):
        true = k * true + added
    shown = base == base_again == held and value == true == a * k ** (base - 1) - b
    step = k_said == k and added == b * (k - 1)
    # Every number from the start on is reached from the base.
    return Statement("a formula for v(n)", shown and step and base <= start, lambda get: True)


def scheduling(problem):
    begin, hours = map(
        int, re.match(r"Task 1 starts at hour (\d+) and takes (\d+)", problem).groups()
    )
    given, rules = {"the start of task 1": begin}, {}
    rules["the end of task 1"] = lambda get: get("the start of task 1") + hours
    tasks = re.findall(
        r"Task (\d+) takes (\d+) hours; it starts as soon as (all of |both |at least one of |)"
        r"(.*?) (?:is|are) done(?:, but not before hour (\d+))?\.",
        problem,
    )
    for number, hours_of, how, waits, release in tasks:
        names = [f"the end of {task}" for task in re.findall(r"task \d+", waits)]
        start, end = f"the start of task {number}", f"the end of task {number}"
        if how != "at least one of ":
            rules[start] = lambda get, n=names, r=int(release or 0): max([r, *map(get, n)])
        else:
            assert not release
            rules[start] = lambda get, n=names: min(map(get, n))
        rules[end] = lambda get, s=start, h=int(hours_of): get(s) + h
    ends = [name for name in rules if name.startswith("the end of task")]
    rules["the end of all tasks"] = lambda get: max(map(get, ends))
    asked = "the end of all tasks"
    for unit, each in (("minutes", 60), ("hundredths of an hour", 100)):
        name = f"the end of all tasks in {unit}"
        rules[name] = lambda get, each=each: each * get("the end of all tasks")
        asked = name if f"Counted in {unit}" in problem else asked
    return Rules(given, rules, asked)
