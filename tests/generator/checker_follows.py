"""Whether lists and stacks follow from those that were stated before, right or not."""

import re

from tests.generator.checker_states import CLOSE, OPEN


def follows(family, before, text):
    """Whether a step follows from what the step before it stated, right or not; None if unknown."""
    if family == "sorting":
        return _list_follows(before, text)
    if family == "brackets":
        return _stack_follows(before, text)
    return None


def _list_follows(before, text):
    taken, lists = re.search(r"we take (\d+)", text), re.compile(r"\[([^\]]*)\]")
    if not taken or not lists.search(before):
        return None
    was = [int(item) for item in lists.search(before)[1].split(", ")]
    now = [int(item) for item in lists.search(text)[1].split(", ")]
    number = int(taken[1])
    if number in was:
        return now == was
    place = next((i for i, item in enumerate(was) if item > number), len(was))
    return now == [*was[:place], number, *was[place:]]


def _stack_follows(before, text):
    stated = re.compile(r"open now: (.*)\.$", re.I)
    was, now, read = stated.search(before), stated.search(text), re.search(r"it is (\S)", text)
    if not was or not now or not read:
        return None
    stack = was[1].replace("none", "").split()
    if read[1] in OPEN:
        stack.append(read[1])
    elif stack and OPEN.index(stack[-1]) == CLOSE.index(read[1]):
        stack.pop()
    return (" ".join(stack) or "none") == now[1]
