"""Expressions of numbers, calculated exactly, and statements that a quantity has a value."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

NUMBER = r"-?\d+(?:/\d+|\.\d+)?"
EQUATION = re.compile(rf"((?:max|min|mod|[\d\s+\-×÷()./,*%^])+?) = ({NUMBER})(?![\d/])(?!\.\d)")
TOKEN = re.compile(r"\d+/\d+|\d+\.\d+|\d+|max|min|mod|//|[-+×÷(),*%^]")


class Statement(NamedTuple):
    """What a step says: the value of a quantity; and whether what else it says agrees."""

    name: str
    value: Any
    holds: Callable[[Callable[[str], Any]], bool]


@dataclass
class Rules:
    """The quantities that a problem gives, and a rule for each further one."""

    given: dict
    rules: dict
    asked: str
    show: Callable[[Any], str] = str
    parts: list = field(default_factory=list)
    about: dict = field(default_factory=dict)
    """What a step must mention of each quantity, where the problem tells."""
    _truth: dict = field(default_factory=dict)

    def truth(self, name):
        if name in self.given:
            return self.given[name]
        if name not in self._truth:
            self._truth[name] = self.rules[name](self.truth)
        return self._truth[name]

    @property
    def answer(self):
        return self.show(self.truth(self.asked))

    @cached_property
    def names(self):
        """Finds the names; of those that hold one another the longest."""
        names = sorted({*self.rules, *self.given}, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.I)


def sentences(text):
    return re.split(r"(?<=\.) ", text)


def whole_numbers(text):
    return [int(number) for number in re.findall(r"-?\d+", text)]


def read_number(text, rules):
    """The statement of a step with an equation that names one quantity."""
    named = {name.lower() for name in rules.names.findall(text)} & set(rules.rules)
    found = equation_in(rules.names.sub("it", text))
    if found is None or len(named) != 1:
        return None
    holds = value_of(found[0]) == Fraction(found[1])
    return Statement(named.pop(), Fraction(found[1]), lambda get: holds)


def equation_in(text):
    """The two sides of the equation in a text."""
    found = EQUATION.search(text)
    return (found[1].strip(" ,."), found[2]) if found else None


def value_of(expression):
    """The exact value of an expression."""
    tokens = TOKEN.findall(expression)
    assert "".join(tokens) == re.sub(r"\s", "", expression), expression
    value, rest = _modulo(tokens)
    assert not rest, expression
    return value


def _modulo(tokens):
    if tokens[:1] == ["("] and tokens[2:6] == ["^", "(", "-", "1"] and tokens[8:9] == ["mod"]:
        return Fraction(pow(int(tokens[1]), -1, int(tokens[9]))), tokens[10:]
    value, tokens = _sum(tokens)
    if tokens[:1] == ["mod"]:
        return value % int(tokens[1]), tokens[2:]
    return value, tokens


def _sum(tokens):
    value, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens[0] == "+" else -1
        other, tokens = _product(tokens[1:])
        value += sign * other
    return value, tokens


def _product(tokens):
    value, tokens = _power(tokens)
    while tokens and tokens[0] in ("×", "*", "÷", "//", "%"):
        sign = tokens[0]
        other, tokens = _power(tokens[1:])
        if sign in "×*":
            value *= other
        elif sign == "÷":
            value /= other
        else:
            value = Fraction(value // other) if sign == "//" else value % other
    return value, tokens


def _power(tokens):
    base, tokens = _atom(tokens)
    if tokens[:1] == ["^"]:
        exponent, tokens = _atom(tokens[1:])
        return base ** int(exponent), tokens
    return base, tokens


def _atom(tokens):
    head, tokens = tokens[0], tokens[1:]
    if head == "-":
        value, tokens = _atom(tokens)
        return -value, tokens
    if head in ("min", "max"):
        values, tokens = [], ["(", *tokens[1:]]
        while tokens[0] != ")":
            value, tokens = _sum(tokens[1:])
            values.append(value)
        return {"min": min, "max": max}[head](values), tokens[1:]
    if head == "(":
        value, tokens = _sum(tokens)
        assert tokens[0] == ")"
        return value, tokens[1:]
    return Fraction(head), tokens
