"""Find the equations in a text that do not hold, as a calculator would.

`3 + 4 = 8` is an arithmetic slip and not an error of reasoning. This module checks equations of
numbers with fractions, powers, roots, factorials and binomial coefficients, ratios, and sums of
like terms such as `2x + 3x = 6x`. It ignores all other equations: with other variables, with
functions, a modulus or another number base, and those that the text itself refutes.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial, isqrt

_GREATEST_POWER = 64
_GREATEST_FACTORIAL = 60
_MOST_DIGITS = 40
_MOST_TERMS = 30
_LONGEST = 400
"""Characters of one side of an equation. The numbers in a longer one may grow without bound."""
_AROUND = 60
"""Characters before and after an equation that tell whether it is part of something else."""
_ROUNDING_ERROR = Fraction(1, 10**9)
"""How far two values may differ, relative to their size, if a root is not rational."""

_DELIMITERS = re.compile(
    r"\\\\|\\[()\[\]]|\$+|\\(?:implies|Rightarrow|Longrightarrow|iff|Leftrightarrow|to|quad|qquad)"
    r"(?![A-Za-z])"
)
_SPACING = re.compile(r"\\[,;:! ]|\\left(?![a-z])|\\right(?![a-z])|&|~|(?<=\d)\{,\}(?=\d)")
_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|\\,)(?=\d{3})")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s*(?:(\d)|(\{[^{}]*\}))\s*(?:(\d)|(\{[^{}]*\}))")
_SHORT_ROOT = re.compile(r"\\sqrt\s*(\d)")
_FRACTIONS = ("\\frac", "\\dfrac", "\\tfrac")
_BINOMIALS = ("\\binom", "\\dbinom", "\\tbinom")
_MARK = (
    r"\d+(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\\[dt]?frac|\\[dt]?binom|\\sqrt|\\times|\\cdot|"
    r"\\div|\\colon|(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|[-+*/×·÷−^=(){}!√]|(?<=\d):(?=\d)|(?<=\s):(?=\s)"
)
_TOKENS = re.compile(_MARK)
_RUN = re.compile(rf"(?:{_MARK})(?:\s*(?:{_MARK}))*")
_WORD_BEFORE = re.compile(r"(\\?[A-Za-z]+)\s*$")
_OTHER_RULES = re.compile(
    r"\\[bp]?mod\b|\bmod(?:ulo)?\b|\\equiv|≡|\bbases?\b|\b(?:hexa)?decimals? notation\b|\bbinary\b|"
    r"\boctal\b|\bhexadecimal\b|\bo'?clock\b",
    re.IGNORECASE,
)
"""In a text with one of these, numbers may follow other rules."""
_REFUTED = re.compile(
    r"contradict|impossible|absurd|\bnot\b|n't\b|\bfalse\b|\bnever\b|\bno\b|\bunless\b|"
    r"\binstead of\b|\bif\b|\bsuppose\b|\bassum|\bwould\b|\bwrong|\bincorrect|\bmistake|\berror",
    re.IGNORECASE,
)
_REMAINDER = re.compile(r"[^.\d]{0,25}?\b(?:R\b|remainder)")
_OPERATION_WORD = re.compile(
    r"of|and|by|from|than|times|plus|minus|over|divided|per|root|squared|cubed|twice|double|triple|"
    r"half|thrice|choose|log|ln|lg|lb|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|"
    r"exp|gcd|lcm|max|min|det|deg|dim|sqrt|floor|ceil|abs|sum|product",
    re.IGNORECASE,
)
"""Words after which a number is an operand and not the start of an equation."""

Terms = Mapping[str, Fraction]
"""Coefficients by the sorted variables of each term. The number itself is the term ''."""


def false_equations(text: str) -> list[str]:
    """Return the equations that do not hold."""
    if "=" not in text or _OTHER_RULES.search(text):
        return []
    plain = _DELIMITERS.sub(" ; ", _SPACING.sub(" ", _THOUSANDS.sub("", _one_line(text))))
    plain = _SHORT_ROOT.sub(r"\\sqrt{\1}", _SHORT_FRACTION.sub(_long_fraction, plain))
    return [equation for run in _RUN.finditer(plain) for equation in _false_in_run(plain, run)]


def _one_line(text: str) -> str:
    """Return a text in one line. An equation continues on a new line only if a sign is there."""
    lines = [line.strip() for line in text.splitlines()]
    parts = lines[:1]
    for before, line in pairwise(lines):
        continues = before.endswith(("=", "+", "-", "*", "/")) or line.startswith(("=", "+", "*"))
        parts += [" " if continues else " ; ", line]
    return "".join(parts)


def _long_fraction(found: re.Match[str]) -> str:
    r"""Return `\frac18` with braces."""
    above, below = found[1] or found[2][1:-1], found[3] or found[4][1:-1]
    return f"\\frac{{{above}}}{{{below}}}"


def _false_in_run(text: str, run: re.Match[str]) -> list[str]:
    if "=" not in run.group():
        return []
    sides = [side.strip() for side in run.group().split("=")]
    if not _starts_clean(text[max(0, run.start() - _AROUND) : run.start()], sides[0]):
        sides = sides[1:]
    if sides and not _ends_clean(text[run.end() : run.end() + _AROUND]):
        sides = sides[:-1]
    if len(sides) < 2 or _is_refuted(text, run):
        return []
    values = [(side, _values(side)) for side in sides]
    wrong = []
    for (left, a), (right, b) in pairwise(values):
        if not a or not b or (_is_plain(left) and _is_plain(right)):
            continue
        if not any(_agree(x, y, f"{left} = {right}") for x in a for y in b):
            wrong.append(f"{left} = {right}")
    return wrong


def _is_refuted(text: str, run: re.Match[str]) -> bool:
    """Return whether the text around an equation says that it does not hold, or not exactly."""
    before = re.split(r"[.;?]\s", text[max(0, run.start() - _AROUND) : run.start()])[-1]
    after = text[run.end() : run.end() + _AROUND]
    return bool(_REFUTED.search(before) or _REFUTED.search(after) or _REMAINDER.match(after))


def _is_plain(side: str) -> bool:
    """Return whether a side is one number or term: between two of them nothing is computed."""
    return re.fullmatch(r"[-+−]?\s*(?:[\d,]+(?:\.\d+)?\s?)?[A-Za-z]?", side) is not None


def _starts_clean(before: str, side: str) -> bool:
    """Return whether the text before an expression does not belong to it."""
    if not before or not side:
        return True
    # A sign with a space after it continues an expression, even across the end of a formula.
    if re.match(r"[-+−]\s|[*/×·÷^=!):}]", side):
        return False
    last = before.rstrip()[-1:]
    if last.isalpha():
        word = _WORD_BEFORE.search(before)
        is_word = word is not None and len(word[1]) > 1 and not word[1].startswith("\\")
        if not is_word or not before[-1].isspace():
            return False
        lone = re.fullmatch(r"[\d.,]+", side) is not None
        name = word[1] if word else ""
        return not _OPERATION_WORD.fullmatch(name) or (name == "and" and not lone)
    if last == ":" and before[-1] == ":" and before[-2:-1].isdigit():
        return False
    return last in ("", *";:,.=<>≤≥≈")


_UNIT = re.compile(r"\s*\\(?:text|mathrm|mbox)\s*\{")
_CONTINUATION = re.compile(r"\s*[\\%_^\[|°'√/]|[A-Za-z]|:\S|\s+[A-Za-z](?![A-Za-z])|…|\.[.\d\\]")
"""Text after an expression that belongs to it."""


def _ends_clean(after: str) -> bool:
    return _UNIT.match(after) is not None or _CONTINUATION.match(after) is None


_LONG_DECIMAL = re.compile(r"\.\d{3}")
_LONE_DECIMAL = re.compile(r"(?:^|= )[-−]?[\d,]+\.(\d+)(?= =|$)")


def _margin(equation: str, size: Fraction) -> Fraction:
    """Return how far the sides may differ because numbers in them are rounded."""
    rounded = [len(found[1]) for found in _LONE_DECIMAL.finditer(equation)]
    margin = max((Fraction(51, 100) / 10**digits for digits in rounded), default=Fraction(0))
    if _LONG_DECIMAL.search(_LONE_DECIMAL.sub("", equation)):
        margin = max(margin, size / 500)
    return max(margin, _ROUNDING_ERROR * size)


def _agree(a: Terms, b: Terms, equation: str) -> bool:
    """Return whether two values agree, or cannot be compared."""
    if set(a) != set(b) or len(a) > 1:
        # An equation for an unknown, such as 2x + 3 = 7x, may hold for some value.
        return a == b or any(a) or any(b)
    return all(abs(a[x] - b[x]) <= _margin(equation, max(abs(a[x]), abs(b[x]))) for x in a)


def _values(side: str) -> list[Terms]:
    """Return the values that an expression may have: none if it is not understood.

    An exclamation mark at the end may be a factorial or end a sentence.
    """
    if not side or len(side) > _LONGEST:
        return []
    readings = [side, side[:-1]] if side.endswith("!") else [side]
    return [value for reading in readings if (value := _value(reading)) is not None]


def _value(side: str) -> Terms | None:
    parts = re.split(r":|\\colon", side)
    if len(parts) > 2:
        return None
    values = []
    for part in parts:
        try:
            reader = _Expression(_TOKENS.findall(part))
            values.append(reader.sum())
        except (ValueError, ArithmeticError, IndexError, RecursionError):
            return None
        if not reader.done or (len(parts) == 2 and not _is_plain(part.strip())):
            return None
    if len(values) == 1:
        return values[0]
    try:
        return {"": _number(values[0]) / _number(values[1])}
    except (ValueError, ArithmeticError):
        return None


def _number(terms: Terms) -> Fraction:
    if any(terms):
        raise ValueError("a variable")
    return terms.get("", Fraction(0))


def _times(a: Terms, b: Terms) -> Terms:
    if len(a) * len(b) > _MOST_TERMS:
        raise ValueError("too many terms")
    product: dict[str, Fraction] = {}
    for left, x in a.items():
        for right, y in b.items():
            name = "".join(sorted(left + right))
            if len(name) > _GREATEST_POWER:
                raise ValueError("a power that is not calculated")
            product[name] = product.get(name, Fraction(0)) + x * y
    return _without_zeros(product)


def _plus(a: Terms, b: Terms, sign: int) -> Terms:
    return _without_zeros(
        {name: a.get(name, Fraction(0)) + sign * b.get(name, Fraction(0)) for name in {**a, **b}}
    )


def _without_zeros(terms: Terms) -> Terms:
    kept = {name: value for name, value in terms.items() if value}
    return kept or {"": Fraction(0)}


def _root(value: Fraction) -> Fraction:
    """Return the square root, to 30 digits if it is not rational."""
    if value < 0:
        raise ValueError("the root of a negative number")
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    if above * above == value.numerator and below * below == value.denominator:
        return Fraction(above, below)
    scale = 10**60
    return Fraction(isqrt(value.numerator * scale // value.denominator), 10**30)


class _Expression:
    """A parser of an expression: powers before products before sums."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def done(self) -> bool:
        return self._place == len(self._tokens)

    def _next(self) -> str:
        return "" if self.done else self._tokens[self._place]

    def _take(self, *wanted: str) -> str:
        token = self._next()
        if token and token in wanted:
            self._place += 1
            return token
        return ""

    def sum(self) -> Terms:
        value = self._product()
        while sign := self._take("+", "-", "−"):
            value = _plus(value, self._product(), 1 if sign == "+" else -1)
        return value

    def _product(self) -> Terms:
        value = self._signed()
        while True:
            follows = self._next()
            if self._take("*", "×", "·", "\\times", "\\cdot"):
                value = _times(value, self._signed())
            elif self._take("/", "÷", "\\div"):
                value = _times(value, {"": 1 / _number(self._signed())})
                # A factor without a sign may belong to the denominator: 1/2x.
                if self._next().isalpha() or self._next() in ("(", "\\sqrt", "√"):
                    raise ValueError("a denominator without end")
            # A fraction is no such factor: 2 1/2 may be two and a half.
            elif follows in ("(", "\\sqrt", "√", *_BINOMIALS) or follows.isalpha():
                value = _times(value, self._power())
            else:
                return value

    def _signed(self) -> Terms:
        if self._take("-", "−"):
            return _times({"": Fraction(-1)}, self._signed())
        self._take("+")
        return self._power()

    def _power(self) -> Terms:
        base = self._atom()
        while self._take("!"):
            number = _number(base)
            if number.denominator != 1 or not 0 <= number <= _GREATEST_FACTORIAL:
                raise ValueError("a factorial that is not calculated")
            base = {"": Fraction(factorial(int(number)))}
        if not self._take("^"):
            return base
        exponent = _number(self._signed() if self._next() in ("-", "−") else self._atom())
        if exponent.denominator != 1 or abs(exponent) > _GREATEST_POWER:
            raise ValueError("a power that is not calculated")
        if not any(base):
            return {"": Fraction(_number(base) ** int(exponent))}
        if not 0 <= exponent <= 8:
            raise ValueError("a power that is not calculated")
        value: Terms = {"": Fraction(1)}
        for _ in range(int(exponent)):
            value = _times(value, base)
        return value

    def _atom(self) -> Terms:
        if self._take(*_FRACTIONS):
            numerator = self._group("{")
            return _times(numerator, {"": 1 / _number(self._group("{"))})
        if self._take(*_BINOMIALS):
            above, below = _number(self._group("{")), _number(self._group("{"))
            if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above <= 1000:
                raise ValueError("a binomial coefficient that is not calculated")
            return {"": Fraction(comb(int(above), int(below)))}
        if self._take("\\sqrt"):
            return {"": _root(_number(self._group("{")))}
        if self._take("√"):
            return {"": _root(_number(self._atom()))}
        if self._next() in ("(", "{"):
            return self._group(self._next())
        token = self._tokens[self._place]
        self._place += 1
        if token.isalpha():
            if self._next() == "(":
                raise ValueError("a function")
            return {token: Fraction(1)}
        if not token[0].isdigit() or len(token) > _MOST_DIGITS:
            raise ValueError("not a number")
        return {"": Fraction(token.replace(",", ""))}

    def _group(self, opening: str) -> Terms:
        if not self._take(opening):
            raise ValueError(f"{opening} is missing")
        value = self.sum()
        if not self._take({"(": ")", "{": "}"}[opening]):
            raise ValueError("a bracket does not close")
        return value
