"""The wordings that all families share: of equations, re-checks, answers and parts, and the styles.

A row draws its wordings before it is decided whether its error is shown.
"""

import re
from collections.abc import Sequence

FRAMES = (
    "{Name}: {expr} = {value}.",
    "For {name} we get {expr} = {value}.",
    "{expr} = {value}, which gives {name}.",
    "So for {name}: {expr} = {value}.",
    "Now {name}: {expr} = {value}.",
    "We work out {name}: {expr} = {value}.",
    "To find {name}, we compute {expr} = {value}.",
)
"""Each states its equation in full. It names the quantity but not the operands."""

CODE_FRAMES = FRAMES[1:]
"""For names that must not start with a capital letter."""

AGAIN = (
    "Let me check an earlier result again. {step} This is what holds.",
    "A second look at an earlier result: {step} This is right.",
    "To be sure, once more: {step} This is what counts.",
    "We go over an earlier result again. {step} This is what stands.",
    "One result is worth a second check. {step} This is what to use.",
)
"""Wordings of a re-check. They are the same whether or not the checked step was right."""

ANSWERS = (
    " The answer is {answer}.",
    " So the answer is {answer}.",
    " Hence the answer is {answer}.",
    " This means that the answer is {answer}.",
    " Therefore the answer is {answer}.",
)

PARTS = (
    "Part {part}: ",
    "(Part {part}) ",
    "In part {part}: ",
    "[Part {part}] ",
    "As to part {part}: ",
)
"""Wordings that say which part of a long problem a sentence belongs to."""

STYLES = ("prose", "bullets", "latex", "comments")
"""How the steps of a long solution are set."""

_EQUATION = re.compile(
    r"(?<![\w.])(?<!Part )(?:max\(|min\(|[-(\d])(?:max|min|mod|[\d\s+\-×÷()/.,*%])* = "
    r"-?\d+(?:/\d+|\.\d+)?(?![\w/])"
)
_FRACTION = re.compile(r"(\d+)/(\d+)")
_COMMANDS = {"×": r"\times", "÷": r"\div", "%": r"\%", "max": r"\max", "min": r"\min"}
_COMMANDS |= {"mod": r"\bmod"}
_SIGN = re.compile("|".join(_COMMANDS))


def styled(style: str, facts: Sequence[str]) -> str:
    """Return the facts of a step in a style, one on each line."""
    if style == "prose":
        return "\n".join(facts)
    if style == "latex":
        # A fact with a power may be a formula of n, which is not an equation of numbers.
        return "\n".join(
            r"\item " + (fact if "^" in fact else _EQUATION.sub(_formula, fact)) for fact in facts
        )
    mark = "• " if style == "bullets" else "# "
    return "\n".join(mark + fact.replace("\n", f"\n{mark}") for fact in facts)


def _formula(found: re.Match[str]) -> str:
    formula = _FRACTION.sub(r"\\frac{\1}{\2}", found[0])
    return f"${_SIGN.sub(lambda sign: _COMMANDS[sign[0]], formula)}$"
