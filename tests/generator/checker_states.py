"""What programs, brackets, lists, holdings and guests ought to be, read from the problem's text."""

import re
from dataclasses import dataclass

OPEN, CLOSE = "([{<", ")]}>"


@dataclass
class Truth:
    values: dict[str, str]
    answer: str
    parts: dict[str, str]
    """What a step must mention of each quantity, where the problem tells."""


def claim(family, text, truth):
    """Whether the quantity that a step names has the value that it states."""
    return CLAIMS[family](text, truth)


def _named(text, pattern, truth):
    found = re.search(pattern, text, re.I)
    return found[0].lower() if found and found[0].lower() in truth.values else None


# Programs


def programs(problem):
    lines = re.findall(r"^(\d+): (.*)$", problem, re.M)
    state, values = {}, {}
    for number, line in lines:
        name, state[name] = executed(line, state)
        values[f"{name} after line {number}"] = str(state[name])
    asked = re.search(r"What is (\w) at the end", problem)[1]
    return Truth(values, str(state[asked]), {})


def executed(line, state):
    """The variable that a line sets, and its value where the variables are as in the state."""
    if line.startswith("xs.append"):
        return "xs", [*state["xs"], state[line[10]]]
    if line == "xs.reverse()":
        return "xs", list(reversed(state["xs"]))
    name, _, code = line.partition(" = ")
    return name, _evaluated(code, state)


def _evaluated(code, state):
    if found := re.fullmatch(r"(\w) \+ (\d+) if (\w) > (\w) else (\w) - (\d+)", code):
        target, by, left, right, *_ = found.groups()
        return state[target] + int(by) * (1 if state[left] > state[right] else -1)
    if found := re.fullmatch(r"([abc]) ([-+*]) (\d+)", code):
        left, right = state[found[1]], int(found[3])
        return {"+": left + right, "-": left - right, "*": left * right}[found[2]]
    if found := re.fullmatch(r"xs\[(\d+)\]", code):
        return state["xs"][int(found[1])]
    if code == "sum(xs)":
        return sum(state["xs"])
    if code == "xs[1:]":
        return state["xs"][1:]
    return [int(item) for item in re.findall(r"\d+", code)] if "[" in code else int(code)


def _program_claim(text, truth):
    name = _named(text, r"\b(?:[abc]|xs) after line \d+", truth)
    if name is None:
        return None
    if name.startswith("xs"):
        return re.findall(r"\[[^\]]*\]", text)[-1] == truth.values[name]
    stated = re.search(r" = (\d+)", text)
    return None if stated is None else stated[1] == truth.values[name]


# Brackets


def brackets(problem):
    read = re.match(r"Read the brackets (.*) from the left", problem)[1].split()
    stack, values, parts = [], {}, {}
    for number, character in enumerate(read, start=1):
        if character in OPEN:
            stack.append(character)
        elif stack and OPEN.index(stack[-1]) == CLOSE.index(character):
            stack.pop()
        values[f"character {number}"] = " ".join(stack) or "none"
        parts[f"character {number}"] = character
    missing = " ".join(CLOSE[OPEN.index(character)] for character in reversed(stack))
    values["the end"] = missing
    return Truth(values, missing, parts)


def _bracket_claim(text, truth):
    if re.search(r"\bthe end\b", text, re.I):
        return re.search(r"missing is (.*)\.$", text)[1] == truth.values["the end"]
    name = _named(text, r"character \d+", truth)
    stated = re.search(r"open now: (.*)\.$", text, re.I)
    read = re.search(r"it is (\S)", text)
    if name is None or not stated or not read:
        return None
    return stated[1] == truth.values[name] and read[1] == truth.parts[name]


# Sorting


def sorting(problem):
    first, rest = re.match(
        r"Start with the list \[(\d+)\] and put in the numbers ([\d, ]+) one", problem
    ).groups()
    numbers = [int(number) for number in rest.split(", ")]
    values, parts, seen = {}, {}, {int(first)}
    for turn, number in enumerate(numbers, start=1):
        seen.add(number)
        values[f"turn {turn}"] = str(sorted(seen))
        parts[f"turn {turn}"] = str(number)
    asked = int(re.search(r"Which is number (\d+)", problem)[1])
    parts["the answer"] = str(asked)
    values["the answer"] = str(sorted(seen)[asked - 1])
    return Truth(values, values["the answer"], parts)


def _sorting_claim(text, truth):
    if re.search(r"\bthe answer\b", text, re.I):
        place, number = re.search(r"number (\d+) is (\d+)", text).groups()
        return number == truth.values["the answer"] and place == truth.parts["the answer"]
    name = _named(text, r"turn \d+", truth)
    taken, stated = re.search(r"we take (\d+)", text), re.search(r"\[[^\]]*\]", text)
    if name is None or not taken or not stated:
        return None
    return stated[0] == truth.values[name] and taken[1] == truth.parts[name]


# Shuffled objects


def shuffled_objects(problem):
    start = problem.partition(" Move 1:")[0]
    has = dict(re.findall(r"(\w+) has the (\w+)\.", start))
    values = {}
    for number, move in re.findall(r"Move (\d+): ([^.]*)\.", problem):
        has = moved(move, has)
        values[f"move {number}"] = has
    asked = re.search(r"What does (\w+) have at the end", problem)[1]
    values["the answer"] = {asked: has[asked]}
    return Truth(values, has[asked], {})


def moved(move, has):
    """Who has what after a move."""
    if found := re.match(r"if (\w+) has the (\w+), (\w+) and (\w+) t.*ise (\w+) and (\w+)", move):
        who, thing, *pairs = found.groups()
        a, b = pairs[:2] if has[who] == thing else pairs[2:]
    elif found := re.match(r"(\w+) and (\w+) trade", move):
        a, b = found.groups()
    else:
        a, b, c = re.match(r"(\w+) passes to (\w+), \w+ to (\w+)", move).groups()
        return has | {b: has[a], c: has[b], a: has[c]}
    return has | {a: has[b], b: has[a]}


def _holding_claim(text, truth):
    name = "the answer" if re.search(r"\bthe answer\b", text, re.I) else None
    name = name or _named(text, r"move \d+", truth)
    if name is None:
        return None
    # What is told of the move itself ("gives the ball for the cup of Ann") says "has" of nobody.
    return dict(re.findall(r"(\w+) has the (\w+)", text)) == truth.values[name]


# Deduction

COUNTED = re.compile(
    r"(?:Count:|Guests who come:|We count) (.*?)[,:] (?:which makes |so )?(\d+) guests"
)
SAID = re.compile(r"(not so that )?([A-Z]\w+) (comes|stays away)")


def deduction(problem):
    comes = {}
    for sentence in re.split(r"(?<=\.) ", problem)[:-1]:
        if found := re.fullmatch(r"(\w+) (comes|stays away)\.", sentence):
            comes[found[1]] = found[2] == "comes"
            continue
        name, rule = re.fullmatch(r"(\w+) comes exactly when (.*)\.", sentence).groups()
        comes[name] = ruled(rule, comes)
    count = sum(comes.values())
    return Truth(dict(comes), str(count), {})


def ruled(rule, comes):
    """Whether a guest comes by a rule."""
    a, b = (comes[name] for name in re.findall(r"[A-Z]\w+", rule))
    if rule.startswith("both"):
        return a and b
    if rule.startswith("at least"):
        return a or b
    if rule.startswith("just one"):
        return a is not b
    if rule.startswith("neither"):
        return not (a or b)
    assert rule.endswith("does not")
    return a and not b


def _guest_claim(text, truth):
    if found := COUNTED.search(text):
        listed = re.findall(r"[A-Z]\w+", found[1])
        coming = [name for name, comes in truth.values.items() if comes]
        return listed == coming and int(found[2]) == len(coming)
    said = SAID.findall(text)
    if not said:
        return None
    return all(((what == "comes") != bool(no)) == truth.values[who] for no, who, what in said)


CLAIMS = {
    "programs": _program_claim,
    "brackets": _bracket_claim,
    "sorting": _sorting_claim,
    "shuffled_objects": _holding_claim,
    "deduction": _guest_claim,
}
FAMILIES = {
    function.__name__: function
    for function in (programs, brackets, sorting, shuffled_objects, deduction)
}
