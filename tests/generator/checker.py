"""An independent check of generated solutions: reads problems and steps, and computes again.

Nothing of the generator is imported. A problem's text tells what every quantity ought to be, and a
step names the quantity that it states. A step is right if it states what ought to be, and its
equation holds.
"""

import re
from fractions import Fraction

from tests.generator import checker_numbers, checker_states

AGAIN = re.compile(
    r"^(?:Let me check that again\.|A second look:|To be sure, once more:) (.*) "
    r"(?:This is what holds\.|This is right\.|This is what counts\.)$",
    re.S,
)
ANSWER = re.compile(r" (?:The|So the|Hence the) answer is ([^\n]*)\.$")
NUMBER = r"-?\d+(?:/\d+|\.\d+)?"
EQUATION = re.compile(rf"((?:min\()?[-(]*\d[\d\s+\-×÷()./,]*?) = ({NUMBER})(?![\d/])")


def wrong_steps(family, problem, steps):
    """For every step: True if it is wrong, False if it is right, None if nothing can be said.

    Also for every step whether its equation holds, and the answer that ought to be and is stated.
    """
    kind = checker_numbers if family in checker_numbers.FAMILIES else checker_states
    truth = kind.FAMILIES[family](problem)
    wrong, holds = [], []
    for step in steps:
        text = ANSWER.sub("", step)
        again = AGAIN.match(text)
        text = again[1] if again else text
        equation = equation_holds(text)
        claim = kind.claim(family, text, truth)
        wrong.append(None if claim is None else not (claim and equation is not False))
        holds.append(equation)
    stated = ANSWER.search(steps[-1])
    return wrong, holds, truth.answer, stated[1] if stated else None


def equation_holds(text):
    """Whether the equation in a text holds; None if there is none."""
    found = EQUATION.search(text)
    if not found:
        return None
    return value_of(found[1]) == Fraction(found[2])


def value_of(expression):
    """Sums, products, quotients, brackets and the smaller of two, computed exactly."""
    tokens = re.findall(r"\d+/\d+|\d+\.\d+|\d+|min|[-+×÷(),]", expression)
    value, rest = _sum(tokens)
    assert not rest, expression
    return value


def _sum(tokens):
    value, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens[0] == "+" else -1
        other, tokens = _product(tokens[1:])
        value += sign * other
    return value, tokens


def _product(tokens):
    value, tokens = _atom(tokens)
    while tokens and tokens[0] in "×÷":
        sign = tokens[0]
        other, tokens = _atom(tokens[1:])
        value = value * other if sign == "×" else value / other
    return value, tokens


def _atom(tokens):
    head, tokens = tokens[0], tokens[1:]
    if head == "-":
        value, tokens = _atom(tokens)
        return -value, tokens
    if head == "min":
        first, tokens = _sum(tokens[1:])
        second, tokens = _sum(tokens[1:])
        return min(first, second), tokens[1:]
    if head == "(":
        value, tokens = _sum(tokens)
        return value, tokens[1:]
    return Fraction(head), tokens
