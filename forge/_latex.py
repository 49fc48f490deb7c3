"""LaTeX in plain text: where formulas start and end, and whether they are complete."""

import re
from collections.abc import Iterator

Span = tuple[int, int]

_OPENING = re.compile(r"\\(?:\\|\$|\[|begin\s*\{(\w+\*?)\})|\$\$|```|\[asy\]")
_CLOSING = {"\\[": "\\]", "$$": "$$", "```": "```", "[asy]": "[/asy]"}
_RARE = ("\\\\", "$$", "\\begin", "```", "[asy]")
"""Without any of these, a search for brackets is enough."""
_ENVIRONMENT_END = re.compile(r"(?<!\\)(?:\\\\)*\\end\{(\w+\*?)\}")
_INLINE = re.compile(
    r"\\\((?:[^\\]|\\[^()])*+\\\)|(?<![\\$])\$(?:[^$\\\n]|\\.|\n(?!\s*\n))++\$", re.DOTALL
)


def display_spans(text: str) -> list[Span]:
    """Return the spans of display formulas, environments and code blocks that are closed.

    The time grows linearly with the length of the text, whatever the text is.
    """
    if not any(mark in text for mark in _RARE):
        return _brackets(text)
    spans: list[Span] = []
    never: set[str] = set()
    last_ends = {found[1]: found.end() for found in _ENVIRONMENT_END.finditer(text)}
    place = 0
    while found := _OPENING.search(text, place):
        place = found.end()
        name = found[1]
        closing = f"\\end{{{name}}}" if name else _CLOSING.get(found.group())
        if closing is None or closing in never:
            continue
        if name and last_ends.get(name, 0) < place:
            continue
        end = _end(text, place, closing, name)
        if end is None:
            # No later one exists either, so it is not searched again.
            never.add(closing)
        else:
            spans.append((found.start(), end))
            place = end
    return spans


def _brackets(text: str) -> list[Span]:
    """Return the spans of a text that has only brackets, as most texts have."""
    spans: list[Span] = []
    end = 0
    while (start := text.find("\\[", end)) >= 0 and (found := text.find("\\]", start)) >= 0:
        end = found + 2
        spans.append((start, end))
    return spans


def _end(text: str, place: int, closing: str, name: str | None) -> int | None:
    """Return the end of the closing mark, of the outermost one if environments are nested."""
    depth, end = 1, None
    while depth and (start := text.find(closing, place)) >= 0:
        if text[start - 1] == "\\" and _escaped(text, start):
            place = start + 1
            continue
        if name:
            depth += text.count(f"\\begin{{{name}}}", place, start)
        depth -= 1
        place = end = start + len(closing)
    return end


def _escaped(text: str, place: int) -> bool:
    """Return whether the backslash at a place belongs to a line break before it."""
    before = text[max(0, place - 8) : place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def inline_spans(text: str) -> Iterator[Span]:
    """Yield the spans of formulas inside a line of text."""
    if "\\)" in text or "$" in text:
        for found in _INLINE.finditer(text):
            yield found.span()


_PAIRS = (("\\[", "\\]"), ("\\(", "\\)"))
_SIDE = re.compile(r"\\(left|right)(?![a-z])")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{(\w+\*?)\}")
_DOUBLED = re.compile(
    r"\\\\(?:d?frac|boxed|sqrt|times|cdot|left|right|text|mathbb|sum|int|leq?|geq?|neq?|angle|"
    r"triangle|pi|alpha|beta|theta|implies|quad|circ|in|infty|begin|end|ln|log|sin|cos|tan)\b"
    r"|\\\\[()\]]"
)


def broken_latex(text: str) -> str | None:
    """Describe what is not closed in a text. Return None if everything is closed."""
    # Plain counts come first: they almost always agree, and escaped signs come in pairs too.
    if text.count("{") != text.count("}"):
        opened = text.count("{") - _commands(text, "\\{")
        closed = text.count("}") - _commands(text, "\\}")
        if opened != closed:
            return f"{opened} opening and {closed} closing braces"
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing) and _commands(text, opening) != _commands(
            text, closing
        ):
            return f"{opening} and {closing} do not pair"
    if text.count("$") % 2 and (text.count("$") - _commands(text, "\\$")) % 2:
        return "an odd number of $"
    if text.count("\\left") != text.count("\\right"):
        sides = _SIDE.findall(text)
        if 2 * sides.count("left") != len(sides):
            return "\\left and \\right do not pair"
    if "\\begin" in text or "\\end" in text:
        ends = _ENVIRONMENT.findall(text)
        begun = sorted(name for kind, name in ends if kind == "begin")
        if begun != sorted(name for kind, name in ends if kind == "end"):
            return "\\begin and \\end do not pair"
    return None


def _commands(text: str, command: str) -> int:
    r"""Count a command of one sign in a text. Two backslashes are a line break."""
    count = text.count(command)
    if count and "\\\\" in text:
        count -= text.count(f"\\{command}") - text.count(f"\\\\{command}")
    return count


def doubled_escapes(text: str) -> list[str]:
    r"""Return commands with one backslash too many, such as `\\frac`, from escaping twice."""
    return [found.group() for found in _DOUBLED.finditer(text)] if "\\\\" in text else []
