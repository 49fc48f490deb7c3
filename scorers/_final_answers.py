"""Whether a final answer is the target: as given, or as meant."""

import re
from decimal import Decimal

from misstep.registry import AnswerKind
from misstep.verdicts import Reading

_QUOTES = "\"'`´“”‘’„‚«»"
_PREFIX = re.compile(r"answer ?:", re.IGNORECASE)
_LETTER = re.compile(r"\(([A-Za-z])\)")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3}){1,30}|\d{1,100})(?:\.\d{1,100})?|[-+]?\.\d{1,100}")
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-"})


def is_right(reply: str, target: str, kind: AnswerKind, reading: Reading) -> bool:
    """Whether a reply gives the target.

    Args:
        reply: The model's final answer.
        target: The right one.
        kind: What answers look like.
        reading: Strict compares the texts as they are. Lenient looks through spaces, quotes, a
            leading "Answer:" and a final period; words are compared in lower case, numbers as
            numbers, brackets without spaces, and of options the one letter in parentheses.
    """
    if reading == "strict":
        return reply == target
    return _meant(reply, kind) == _meant(target, kind)


def _meant(text: str, kind: AnswerKind) -> object:
    plain = _plain(text)
    match kind:
        case "number":
            number = plain.translate(_MINUS)
            found = _NUMBER.fullmatch(number)
            return Decimal(number.replace(",", "")) if found else plain.lower()
        case "letter":
            letters = {letter.upper() for letter in _LETTER.findall(plain)}
            return letters.pop() if len(letters) == 1 else plain.lower()
        case "brackets":
            return plain.replace(" ", "")
        case "words":
            return plain.lower()


def _plain(text: str) -> str:
    """Without what surrounds an answer; nothing inside it changes but the width of spaces."""
    plain = _unquoted(" ".join(text.split()))
    if prefix := _PREFIX.match(plain):
        plain = _unquoted(plain[prefix.end() :])
    return _unquoted(plain.removesuffix("."))


def _unquoted(text: str) -> str:
    return text.strip(_QUOTES + " ")
