"""Equations between plain numbers in a text, calculated again.

`3 + 4 = 8` is an arithmetic slip and not an error of reasoning. Only equations of plain numbers are
checked; equations with a variable, a function or a modulus are ignored.
"""

import re
from fractions import Fraction
from itertools import pairwise

_GREATEST_POWER = 64
_MOST_DIGITS = 40
_LONGEST = 400
"""Characters of one side of an equation. The numbers in a longer one may grow without bound."""
_AROUND = 40
"""Characters before and after an equation that tell whether it is part of something else."""

_DELIMITERS = re.compile(
    r"\\\\|\\[()\[\]]|\$+|\\(?:implies|Rightarrow|Longrightarrow|to|quad|qquad)"
)
_SPACING = re.compile(r"\\[,;:! ]|\\left|\\right|&|~")
_MARK = r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\\[dt]?frac|\\times|\\cdot|\\div|[-+*/×·÷−^=(){}]"
_TOKENS = re.compile(_MARK)
_RUN = re.compile(rf"(?:{_MARK})(?:\s*(?:{_MARK}))*")
_WORD_BEFORE = re.compile(r"(\\?[A-Za-z]+)\s*$")
_MODULAR = re.compile(r"\s*(?:\(?\s*\\?[bp]?mod\b|\\equiv|≡)")


def false_equations(text: str) -> list[str]:
    """Return the equations between plain numbers that do not hold."""
    plain = _SPACING.sub(" ", _DELIMITERS.sub(" ; ", text))
    return [equation for run in _RUN.finditer(plain) for equation in _false_in_run(plain, run)]


def _false_in_run(text: str, run: re.Match[str]) -> list[str]:
    if "=" not in run.group() or _MODULAR.match(text, run.end()):
        return []
    sides = [side.strip() for side in run.group().split("=")]
    if not _starts_clean(text[max(0, run.start() - _AROUND) : run.start()], sides[0]):
        sides = sides[1:]
    if sides and not _ends_clean(text[run.end() : run.end() + _AROUND]):
        sides = sides[:-1]
    values = [(side, _value(side)) for side in sides if side]
    wrong = []
    for (left, a), (right, b) in pairwise(values):
        if a is not None and b is not None and abs(a - b) > max(_rounding(left), _rounding(right)):
            wrong.append(f"{left} = {right}")
    return wrong


def _starts_clean(before: str, side: str) -> bool:
    """Return whether the text before an expression does not belong to it."""
    if not before or not side:
        return True
    # A sign with a space after it continues an expression, even across the end of a formula.
    if re.match(r"[-+−]\s", side):
        return False
    last = before.rstrip()[-1:]
    if last.isalpha():
        word = _WORD_BEFORE.search(before)
        is_word = word is not None and len(word[1]) > 1 and not word[1].startswith("\\")
        if word is not None and word[1] == "mod":
            return False
        return is_word and before[-1].isspace()
    return last in ("", *";:,.=<>≤≥≈")


def _ends_clean(after: str) -> bool:
    if re.match(r"\s*[\\%!_^\[|°']", after) or re.match(r"[A-Za-z]", after):
        return False
    return not re.match(r"\s+[A-Za-z](?![A-Za-z])", after)


def _rounding(side: str) -> Fraction:
    """Return how far a rounded decimal number may be from the exact one."""
    found = re.fullmatch(r"[-−]?[\d,]+\.(\d+)", side)
    return Fraction(51, 100) / 10 ** len(found[1]) if found else Fraction(0)


def _value(side: str) -> Fraction | None:
    """Return the value of an expression of numbers, or None if it is not one."""
    if len(side) > _LONGEST:
        return None
    try:
        reader = _Expression(_TOKENS.findall(side))
        value = reader.sum()
        return value if reader.done else None
    except (ValueError, ArithmeticError, IndexError, RecursionError):
        return None


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

    def sum(self) -> Fraction:
        value = self._product()
        while sign := self._take("+", "-", "−"):
            term = self._product()
            value = value + term if sign == "+" else value - term
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while True:
            if self._take("*", "×", "·", "\\times", "\\cdot"):
                value *= self._signed()
            elif self._take("/", "÷", "\\div"):
                value /= self._signed()
            elif self._next() == "(":  # but not before a fraction: 2 1/2 may be two and a half
                value *= self._power()
            else:
                return value

    def _signed(self) -> Fraction:
        if self._take("-", "−"):
            return -self._signed()
        self._take("+")
        return self._power()

    def _power(self) -> Fraction:
        base = self._atom()
        if not self._take("^"):
            return base
        exponent = self._signed() if self._next() in ("-", "−") else self._atom()
        if exponent.denominator != 1 or abs(exponent) > _GREATEST_POWER:
            raise ValueError("a power that is not calculated")
        return Fraction(base ** int(exponent))

    def _atom(self) -> Fraction:
        if self._take("\\frac", "\\dfrac", "\\tfrac"):
            above, below = self._group("{"), self._group("{")
            return above / below
        if self._next() in ("(", "{"):
            return self._group(self._next())
        token = self._tokens[self._place]
        if not token[0].isdigit() or len(token) > _MOST_DIGITS:
            raise ValueError("not a number")
        self._place += 1
        return Fraction(token.replace(",", ""))

    def _group(self, opening: str) -> Fraction:
        if not self._take(opening):
            raise ValueError(f"{opening} is missing")
        value = self.sum()
        if not self._take({"(": ")", "{": "}"}[opening]):
            raise ValueError("a bracket does not close")
        return value
