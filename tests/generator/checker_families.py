"""For every family: the rules that its problems give, and what its steps state."""

import ast
import re
from dataclasses import dataclass
from fractions import Fraction

from tests.generator.checker_numbers import NUMBER, Rules, Statement, read_number


def sentences(text):
    return re.split(r"(?<=\.) ", text)


def whole(text):
    return [int(number) for number in re.findall(r"-?\d+", text)]


@dataclass
class Family:
    rules: object
    read: object = read_number


# Numbers


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
        n = whole(case)
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
        n = whole(event)
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


def spreadsheets(problem):
    large, factor, small = re.search(r"\(1 (\w+) is (\d+) (\w+)\)", problem).groups()
    given, rules = {}, {}
    for name, amount, unit in re.findall(r"^(A\d+): (\d+) (\w+)$", problem, re.M):
        given[name] = int(amount) * {large: int(factor), small: 1}[unit]

    def key(name):
        return name if name in given else f"cell {name} in {small}".lower()

    for name, code, unit in re.findall(r"^(B\d+): = (.*), in (\w+)$", problem, re.M):
        assert unit == small
        if found := re.fullmatch(r"SUM\(A(\d+):A(\d+)\)", code):
            cells = [f"A{n}" for n in range(int(found[1]), int(found[2]) + 1)]
            rules[key(name)] = lambda get, cells=cells: sum(map(get, cells))
        elif found := re.fullmatch(r"(\w+) × (\d+)", code):
            rules[key(name)] = lambda get, c=found[1], by=int(found[2]): get(key(c)) * by
        else:
            a, sign, b = re.fullmatch(r"(\w+) ([+-]) (\w+)", code).groups()
            by = 1 if sign == "+" else -1
            rules[key(name)] = lambda get, a=a, b=b, by=by: get(key(a)) + by * get(key(b))
    return Rules(given, rules, key(re.search(r"What is (B\d+),", problem)[1]))


def code_traces(problem):
    """The program is run by an interpreter of our own: what each assignment depends on is known."""
    code = re.search(r"program:\n(.*)\nWhat is", problem, re.S)[1]
    given, rules, names = {}, {}, {}
    functions = {}

    def assign(name, value, names):
        names = dict(names)
        return lambda get: _python(value, lambda variable: get(names[variable]), functions)

    def execute(body, when):
        for line in body:
            if isinstance(line, ast.FunctionDef):
                functions[line.name] = line
            elif isinstance(line, ast.For):
                for number in range(*(each.value for each in line.iter.args)):
                    names["i"] = given_name = f"i = {number}"
                    given[given_name] = number
                    execute(line.body, f"in the pass with i = {number}")
                when = "after the loop"
            elif isinstance(line, ast.If):
                [yes], [no] = line.body, line.orelse
                assert yes.targets[0].id == no.targets[0].id
                choice = ast.IfExp(line.test, yes.value, no.value)
                state(yes.targets[0].id, choice, when)
            else:
                state(line.targets[0].id, line.value, when)

    def state(target, value, when):
        name = f"{target} {when}".strip()
        if when:
            rules[name] = assign(name, value, names)
        else:
            given[f"{target} at first"] = value.value
            name = f"{target} at first"
        names[target] = name

    execute(ast.parse(code).body, "")
    return Rules(given, rules, "result after the loop")


def _python(node, get, functions):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return int(get(node.id))
    if isinstance(node, ast.IfExp):
        [right] = node.test.comparators
        assert isinstance(node.test.ops[0], ast.Gt)
        left, right = (_python(side, get, functions) for side in (node.test.left, right))
        return _python(node.body if left > right else node.orelse, get, functions)
    if isinstance(node, ast.Call):
        given = [_python(argument, get, functions) for argument in node.args]
        if node.func.id == "max":
            return max(given)
        [value], [returned] = given, functions[node.func.id].body
        return _python(returned.value, lambda name: value, functions)
    left, right = (_python(side, get, functions) for side in (node.left, node.right))
    return {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: left * right,
        ast.Mod: lambda: left % right,
        ast.FloorDiv: lambda: left // right,
    }[type(node.op)]()


# Programs


def programs(problem):
    given, rules, names = {}, {}, {}
    for number, line in re.findall(r"^(\d+): (.*)$", problem, re.M):
        if line.startswith("xs.append"):
            target, code = "xs", f"append {line[10]}"
        elif line == "xs.reverse()":
            target, code = "xs", "reverse"
        else:
            target, _, code = line.partition(" = ")
        name = f"{target} after line {number}"
        if re.fullmatch(r"\d+|\[[\d, ]+\]", code):
            given[name] = ast.literal_eval(code)
        else:
            now = dict(names)
            rules[name] = lambda get, c=code, now=now: _line(c, lambda v: get(now[v]))
        names[target] = name
    asked = names[re.search(r"What is (\w+) at the end", problem)[1]]
    lists, seen = {}, None
    for name in [*given, *rules]:
        lists[name] = seen
        if name.startswith("xs"):
            seen = name
    sums = set(re.findall(r"^(\d+): \w+ = sum\(xs\)$", problem, re.M))
    return Rules(given, rules, asked, about={"lists": lists, "sums": sums})


def _line(code, get):
    if code.startswith("append"):
        return [*get("xs"), get(code[-1])]
    if code == "reverse":
        return get("xs")[::-1]
    if found := re.fullmatch(r"(\w) \+ (\d+) if (\w) > (\w) else (\w) - (\d+)", code):
        target, by, left, right, *_ = found.groups()
        return get(target) + int(by) * (1 if get(left) > get(right) else -1)
    if found := re.fullmatch(r"([abc]) ([-+*]) (\d+)", code):
        left, right = get(found[1]), int(found[3])
        return {"+": left + right, "-": left - right, "*": left * right}[found[2]]
    if found := re.fullmatch(r"xs\[(\d+)\]", code):
        return get("xs")[int(found[1])]
    return {"sum(xs)": lambda: sum(get("xs")), "xs[1:]": lambda: get("xs")[1:]}[code]()


def read_program(text, rules):
    found = rules.names.search(text)
    if not found or found[0] not in rules.rules:
        return None
    name = found[0]
    shown = [ast.literal_eval(each) for each in re.findall(r"\[[^\]]*\]", text)]
    before = rules.about["lists"][name]
    if name.startswith("xs"):
        *shown, value = shown
        return Statement(name, value, lambda get: all(each == get(before) for each in shown))
    if shown:
        value = int(re.search(r"(-?\d+)\.$", text)[1])
        return Statement(name, value, lambda get: shown == [get(before)])
    statement = read_number(text, rules)
    if statement and name.rpartition(" ")[2] in rules.about["sums"]:
        terms = re.search(r"(\d+(?: \+ \d+)*) = ", text)[1]
        return statement._replace(
            holds=lambda get: (
                statement.holds(get) and sorted(terms.split(" + ")) == sorted(map(str, get(before)))
            )
        )
    return statement


# Brackets

OPEN, CLOSE = "([{<", ")]}>"


def brackets(problem):
    read = re.match(r"Read the brackets (.*) from the left", problem)[1].split()
    given, rules = {"character 0": ()}, {}
    for number, character in enumerate(read, start=1):

        def after(get, n=number, c=character):
            stack = get(f"character {n - 1}")
            if c in OPEN:
                return (*stack, c)
            closes = stack and OPEN.index(stack[-1]) == CLOSE.index(c)
            return stack[:-1] if closes else stack

        rules[f"character {number}"] = after
    last = f"character {len(read)}"
    rules["the end"] = lambda get: tuple(CLOSE[OPEN.index(c)] for c in reversed(get(last)))
    return Rules(given, rules, "the end", _spaced, about={"read": read, "last": last})


def _spaced(stack):
    return " ".join(stack) or "none"


def _stack(text):
    return () if text == "none" else tuple(text.split())


def read_brackets(text, rules):
    if re.search(r"\bthe end\b", text, re.I):
        opened = re.search(r"we have (none|[(\[{< ]+) open", text)[1]
        missing = re.search(r"missing: (.*)\.$", text)[1]
        last = rules.about["last"]
        return Statement("the end", _stack(missing), lambda get: _stack(opened) == get(last))
    found = re.search(
        r"character (\d+).*it is (\S)(?:, with (\d+) open before it)?.*open now: (.*)\.$",
        text,
        re.I,
    )
    number, read, depth, value = found.groups()

    def holds(get):
        before = get(f"character {int(number) - 1}")
        right = read == rules.about["read"][int(number) - 1]
        return right and (depth is None or int(depth) == len(before))

    return Statement(f"character {number}", _stack(value), holds)


# Sorting


def sorting(problem):
    first, rest = re.match(
        r"Start with the list \[(\d+)\] and put in the numbers ([\d, ]+) one", problem
    ).groups()
    numbers = whole(rest)
    given, rules = {"turn 0": [int(first)]}, {}
    for turn, number in enumerate(numbers, start=1):
        rules[f"turn {turn}"] = lambda get, t=turn, n=number: _inserted(get(f"turn {t - 1}"), n)
    asked = int(re.search(r"Which is number (\d+)", problem)[1])
    last = f"turn {len(numbers)}"
    rules["the answer"] = lambda get: get(last)[asked - 1]
    return Rules(given, rules, "the answer", about={"numbers": numbers, "asked": asked})


def _inserted(was, number):
    if number in was:
        return was
    place = next((i for i, item in enumerate(was) if item > number), len(was))
    return [*was[:place], number, *was[place:]]


def read_sorting(text, rules):
    if re.search(r"\bthe answer\b", text, re.I):
        place, value = map(int, re.search(r"number (\d+) is (\d+)", text).groups())
        return Statement("the answer", value, lambda get: place == rules.about["asked"])
    turn, taken, larger = re.search(
        r"turn (\d+).*we take (\d+)(?: \(larger numbers in the list so far: (\d+)\))?", text, re.I
    ).groups()
    value = whole(re.search(r"\[[^\]]*\]", text)[0])

    def holds(get):
        if int(taken) != rules.about["numbers"][int(turn) - 1]:
            return False
        before = get(f"turn {int(turn) - 1}")
        return larger is None or int(larger) == sum(item > int(taken) for item in before)

    return Statement(f"turn {turn}", value, holds)


# Shuffled objects


def shuffled_objects(problem):
    start = problem.partition(" Move 1:")[0]
    given, rules = {"move 0": dict(re.findall(r"(\w+) has the (\w+)\.", start))}, {}
    moves = re.findall(r"Move (\d+): ([^.]*)\.", problem)
    for number, move in moves:
        rules[f"move {number}"] = lambda get, n=int(number), m=move: _moved(m, get(f"move {n - 1}"))
    asked, last = re.search(r"What does (\w+) have at the end", problem)[1], f"move {len(moves)}"
    rules["the answer"] = lambda get: {asked: get(last)[asked]}
    return Rules(given, rules, "the answer", lambda has: has[asked])


def _moved(move, has):
    if found := re.match(r"if (\w+) has the (\w+), (\w+) and (\w+) t.*ise (\w+) and (\w+)", move):
        who, thing, *pairs = found.groups()
        a, b = pairs[:2] if has[who] == thing else pairs[2:]
    elif found := re.match(r"(\w+) and (\w+) trade", move):
        a, b = found.groups()
    else:
        a, b, c = re.match(r"(\w+) passes on to (\w+), \w+ to (\w+)", move).groups()
        return has | {b: has[a], c: has[b], a: has[c]}
    return has | {a: has[b], b: has[a]}


def read_holdings(text, rules):
    value = dict(re.findall(r"(\w+) has the (\w+)", text))
    if re.search(r"\bthe answer\b", text, re.I):
        return Statement("the answer", value, lambda get: True)
    number = int(re.search(r"move (\d+)", text, re.I)[1])

    def holds(get):
        """Those who are told to trade are those who do, with what they had."""
        was = get(f"move {number - 1}")
        wanted = rules.rules[f"move {number}"](get)
        changed = {who for who in was if was[who] != wanted[who]}
        if found := re.search(r"(\w+) and (\w+) trade", text):
            return {*found.groups()} == changed
        if found := re.search(r"(\w+) gives (\w+) the (\w+) and gets the (\w+) for it", text):
            giver, other, given, got = found.groups()
            return {giver, other} == changed and (was[giver], was[other]) == (given, got)
        return "passes on to" in text

    return Statement(f"move {number}", value, holds)


# Deduction

SAID = re.compile(r"(false that )?([A-Z]\w+) (comes|stays away)")


def deduction(problem):
    given, rules, of = {}, {}, {}
    for sentence in sentences(problem)[:-1]:
        if found := re.fullmatch(r"(\w+) (comes|stays away)\.", sentence):
            given[found[1].lower()] = found[2] == "comes"
            continue
        name, rule = re.fullmatch(r"(\w+) comes if and only if (.*)\.", sentence).groups()
        of[name.lower()] = {each.lower() for each in re.findall(r"[A-Z]\w+", rule)}
        rules[name.lower()] = lambda get, rule=rule: _ruled(rule, get)
    people = [*given, *rules]
    rules["the number of guests"] = lambda get: sum(map(get, people))
    return Rules(given, rules, "the number of guests", about={"of": of, "people": people})


def _ruled(rule, get):
    a, b = (get(name.lower()) for name in re.findall(r"[A-Z]\w+", rule))
    if rule.startswith("both"):
        return a and b
    if rule.startswith("at least"):
        return a or b
    if rule.startswith("exactly one"):
        return a is not b
    if rule.startswith("neither"):
        return not (a or b)
    assert rule.endswith("does not")
    return a and not b


def read_guests(text, rules):
    if found := re.search(
        r"(?:Count:|Those who come:|count those who come|list them:|list of those who come:) "
        r"\(?([^()]*)\)?; number of guests: (\d+)\.$",
        text,
    ):
        listed = [name.lower() for name in re.findall(r"[A-Z]\w+", found[1])]
        people = rules.about["people"]
        return Statement(
            "the number of guests", int(found[2]), lambda get: listed == list(filter(get, people))
        )
    *premises, (who, comes) = [
        (who.lower(), (what == "comes") != bool(no)) for no, who, what in SAID.findall(text)
    ]

    def holds(get):
        same = {name for name, _ in premises} == rules.about["of"][who]
        return same and all(get(name) == value for name, value in premises)

    return Statement(who, comes, holds)


# Reachability


def reachability(problem):
    start = re.search(r"At first only (\w) is marked", problem)[1]
    roads = re.findall(r"Road \d+ goes from (\w) to (\w)\.", problem)
    passes = 2 if "twice" in problem else 1
    given, rules, before, by_name = {"the start": {start}}, {}, "the start", {}
    for number in range(1, passes + 1):
        for place, (a, b) in enumerate(roads, start=1):
            name = f"road {place}" + (f" in pass {number}" if passes > 1 else "")

            def after(get, a=a, b=b, before=before):
                marked = get(before)
                return marked | {b} if a in marked else marked

            rules[name] = after
            by_name[name] = (a, b, before)
            before = name
    rules["the count"] = lambda get: len(get(before))
    return Rules(given, rules, "the count", about={"roads": by_name, "last": before})


def read_roads(text, rules):
    if found := re.search(
        r"the count: marked at the end: (.*); number of points: (\d+)\.$", text, re.I
    ):
        listed = set(found[1].split(", "))
        last = rules.about["last"]
        return Statement("the count", int(found[2]), lambda get: listed == get(last))
    name = rules.names.search(text)[0].lower()
    a, b, same, state, marked = re.search(
        r"from (\w) to (\w), and (\w) is (marked|not marked)\. Marked now: (.*)\.$", text
    ).groups()
    start, end, before = rules.about["roads"][name]

    def holds(get):
        return (a, b, same) == (start, end, start) and (a in get(before)) == (state == "marked")

    return Statement(name, set(marked.split(", ")), holds)


FAMILIES = {
    "word_problems": Family(word_problems),
    "linear_equations": Family(linear_equations),
    "fractions": Family(fractions),
    "percentages": Family(percentages),
    "sequences": Family(sequences),
    "counting": Family(counting),
    "kinematics": Family(kinematics),
    "stoichiometry": Family(stoichiometry),
    "programs": Family(programs, read_program),
    "brackets": Family(brackets, read_brackets),
    "sorting": Family(sorting, read_sorting),
    "shuffled_objects": Family(shuffled_objects, read_holdings),
    "deduction": Family(deduction, read_guests),
    "probability": Family(probability),
    "modular_arithmetic": Family(modular_arithmetic),
    "recurrences": Family(recurrences, read_recurrence),
    "reachability": Family(reachability, read_roads),
    "scheduling": Family(scheduling),
    "spreadsheets": Family(spreadsheets),
    "code_traces": Family(code_traces),
}
