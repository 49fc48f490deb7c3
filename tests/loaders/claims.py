"""Reading what a step claims, and computing it again."""

import ast
import math
import operator
import re
from fractions import Fraction
from itertools import pairwise

# ---- a small evaluator: a white-list of syntax, exact numbers, never eval ----


class NotPlainError(ValueError):
    """The expression uses something that is not on the white-list."""


def _sqrt(value):
    if isinstance(value, Fraction) and value >= 0:
        top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if Fraction(top, bottom) ** 2 == value:
            return Fraction(top, bottom)
    return math.sqrt(value)


def _power(base, exponent):
    if not isinstance(exponent, Fraction) or exponent.denominator != 1 or abs(exponent) > 64:
        raise NotPlainError("only small whole exponents")
    return base ** int(exponent)


BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}
COMPARE = {
    ast.Eq: lambda a, b: same(a, b),
    ast.NotEq: lambda a, b: not same(a, b),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS = {
    "sqrt": _sqrt,
    "abs": abs,
    "min": min,
    "max": max,
    "sum": lambda items: sum(items, Fraction(0)),
    "len": lambda items: Fraction(len(items)),
    "sorted": sorted,
}


def _index(node):
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _index(part) for part in parts))
    value = _walk(node)
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise NotPlainError("an index must be a whole number")
    return int(value)


def _walk(node):
    match node:
        case ast.Expression(body=body):
            return _walk(body)
        case ast.Constant(value=bool() | str() as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return Fraction(repr(value))
        case ast.List(elts=items):
            return [_walk(item) for item in items]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return BINARY[type(op)](_walk(left), _walk(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return UNARY[type(op)](_walk(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            return COMPARE[type(op)](_walk(left), _walk(right))
        case ast.Subscript(value=value, slice=index):
            return _walk(value)[_index(index)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_walk(arg) for arg in args))
        case _:
            raise NotPlainError(ast.dump(node))


def evaluate(expression):
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise NotPlainError(expression) from error
    return _walk(tree)


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def holds(claim):
    value, stated = evaluate(claim[0]), evaluate(claim[1])
    if len(claim) == 3:
        return abs(value - stated) <= evaluate(claim[2])
    return same(value, stated)


# ---- equations that stand in the text itself ----

THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PLAIN_RUN = re.compile(r"[0-9.+\-*/%() =]+")
BINARY_FIRST = re.compile(r"\s*(?:[+*/%]|-\s)")
SYMBOLS = {
    "−": "-",
    "×": "*",
    "·": "*",
    "÷": "/",
    "½": "(1/2)",
    "²": "**2",
    "³": "**3",
    "⁴": "**4",
    "^": "**",
    "$": "",
    r"\times": "*",
    r"\cdot": "*",
    r"\left": "",
    r"\right": "",
    r"\,": "",
}


def plain(text):
    text = THOUSANDS.sub("", text)
    text = re.sub(r"\\boxed\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    for symbol, replacement in SYMBOLS.items():
        text = text.replace(symbol, replacement)
    return text


def _side(text):
    """The value of one side of an equation and whether it holds an operation, or None."""
    text = text.strip().rstrip(".").strip()
    if text.count("(") > text.count(")"):
        text = text.removesuffix("(").strip()
    try:
        tree = ast.parse(text, mode="eval")
        return _walk(tree), any(isinstance(node, ast.BinOp) for node in ast.walk(tree))
    except (SyntaxError, NotPlainError):
        return None


def equations(text):
    """Each `a op b = c` of plain numbers in the text, as (left, right, their equality)."""
    text = plain(text)
    for run in PLAIN_RUN.finditer(text):
        sides = run.group().split("=")
        before, after = text[: run.start()][-1:], text[run.end() :][:1]
        if (before.isalpha() and not run.group()[0].isspace()) or BINARY_FIRST.match(sides[0]):
            sides[0] = ""  # the rest of an expression with letters, or of a call
        if (after.isalpha() or after in ("\\", "{", "√")) and not run.group()[-1].isspace():
            sides[-1] = ""  # runs on into an expression with letters
        for left, right in pairwise(sides):
            a, b = _side(left), _side(right)
            if a and b and (a[1] or b[1]):
                yield left.strip(), right.strip(), same(a[0], b[0])


def states(step, value):
    """Whether the step's text holds the value literally."""
    parsed = evaluate(value)
    if isinstance(parsed, bool):
        return True
    if isinstance(parsed, str):
        return parsed in step
    if isinstance(parsed, list):
        return value.replace(" ", "") in step.replace(" ", "")
    text = re.sub(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", THOUSANDS.sub("", step))
    text = text.replace("−", "-")
    return re.search(rf"(?<![\d.]){re.escape(value)}(?!\d|\.\d)", text) is not None
