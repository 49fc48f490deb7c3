"""Whether every step follows from what the steps before it stated, right or not.

Of programs, holdings and guests, from the texts alone: what a step ought to state is worked out
again from the problem's rule for it and from what was stated last, not from what is true.
"""

import re

from tests.generator.checker import AGAIN, ANSWER
from tests.generator.checker_states import COUNTED, SAID, executed, moved, ruled


def continued(family, problem, steps):
    """For every step whether it follows from those before it."""
    start, follows_from = FAMILIES[family](problem)
    return _walk(start, follows_from, steps)


def _walk(start, follows_from, steps):
    """Follow the steps; a step that goes over an earlier one starts from what it started from."""
    stated, before, found = start, {}, []
    for step in steps:
        text = ANSWER.sub("", step)
        again = AGAIN.match(text)
        text = again[1] if again else text
        place, follows, changes = follows_from(text, stated, before)
        if again is None:
            before[place] = stated
        # What was stated since of the same thing stands.
        if again is None or not any(changes.keys() & set(_later(before, place, stated))):
            stated = stated | changes
        found.append(follows)
    return found


def _later(before, place, stated):
    """What the steps after a place have set."""
    places = list(before)
    nexts = places[places.index(place) + 1 :]
    if not nexts:
        return ()
    then = before[nexts[0]]
    return [name for name in stated if stated[name] is not then.get(name)]


def _programs(problem):
    lines = dict(re.findall(r"^(\d+): (.*)$", problem, re.M))
    start = {}
    for line in lines.values():
        if not re.fullmatch(r"\w+ = (?:\d+|\[[\d, ]+\])", line):
            break
        name, start[name] = executed(line, start)

    def follows_from(text, stated, before):
        name, number = re.search(r"\b([abc]|xs) after line (\d+)", text).groups()
        was = before.get(number, stated)
        _, wanted = executed(lines[number], was)
        lists = re.findall(r"\[[^\]]*\]", text)
        if name == "xs":
            value = [int(item) for item in re.findall(r"\d+", lists.pop())]
        else:
            value = int(re.search(r" = (-?\d+)", text)[1])
        # The list that a step says it works on is the one that was stated.
        shown = all(shown == str(was["xs"]) for shown in lists)
        if lines[number].endswith("sum(xs)"):
            terms = re.search(r"(\d+(?: \+ \d+)*) = ", text)
            shown = terms is not None and terms[1] == " + ".join(map(str, was["xs"]))
        return number, wanted == value and shown, {name: value}

    return start, follows_from


def _shuffled_objects(problem):
    start = dict(re.findall(r"(\w+) has the (\w+)\.", problem.partition(" Move 1:")[0]))
    moves = dict(re.findall(r"Move (\d+): ([^.]*)\.", problem))

    def follows_from(text, stated, before):
        now = dict(re.findall(r"(\w+) has the (\w+)", text))
        if re.search(r"\bthe answer\b", text, re.I):
            [(who, thing)] = now.items()
            return "answer", stated[who] == thing, {}
        number = re.search(r"move (\d+)", text, re.I)[1]
        was = before.get(number, stated)
        wanted = moved(moves[number], was)
        return number, wanted == now and _told(text, was, wanted), now

    return start, follows_from


def _told(text, was, wanted):
    """Whether those who are told to trade are those who do, with what they had."""
    changed = {who for who in was if was[who] != wanted[who]}
    if found := re.search(r"(\w+) and (\w+) trade", text):
        return {*found.groups()} == changed
    if found := re.search(r"(\w+) gives the (\w+) for the (\w+) of (\w+)", text):
        giver, given, got, other = found.groups()
        return {giver, other} == changed and (was[giver], was[other]) == (given, got)
    return "passes to" in text


def _deduction(problem):
    start, rules = {}, {}
    for sentence in re.split(r"(?<=\.) ", problem)[:-1]:
        if found := re.fullmatch(r"(\w+) (comes|stays away)\.", sentence):
            start[found[1]] = found[2] == "comes"
        else:
            name, rules[name] = re.fullmatch(r"(\w+) comes exactly when (.*)\.", sentence).groups()

    def follows_from(text, stated, before):
        if found := COUNTED.search(text):
            listed = re.findall(r"[A-Z]\w+", found[1])
            coming = [name for name in (*start, *rules) if stated[name]]
            return "count", listed == coming and int(found[2]) == len(coming), {}
        said = [(who, (what == "comes") != bool(no)) for no, who, what in SAID.findall(text)]
        *premises, (who, comes) = said
        wanted = ruled(rules[who], stated)
        true_to = all(stated[name] == value for name, value in premises)
        return who, wanted == comes and true_to and len(premises) == 2, {who: comes}

    return start, follows_from


FAMILIES = {"programs": _programs, "shuffled_objects": _shuffled_objects, "deduction": _deduction}
