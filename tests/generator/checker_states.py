"""Families whose steps change a state: brackets, sorting, objects, guests and marked points."""

import re

from tests.generator.checker_numbers import Rules, Statement, sentences, whole_numbers

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


def sorting(problem):
    first, rest = re.match(
        r"Start with the list \[(\d+)\] and put in the numbers ([\d, ]+) one", problem
    ).groups()
    numbers = whole_numbers(rest)
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
    value = whole_numbers(re.search(r"\[[^\]]*\]", text)[0])

    def holds(get):
        if int(taken) != rules.about["numbers"][int(turn) - 1]:
            return False
        before = get(f"turn {int(turn) - 1}")
        return larger is None or int(larger) == sum(item > int(taken) for item in before)

    return Statement(f"turn {turn}", value, holds)


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
