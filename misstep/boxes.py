r"""The contents of `\boxed{…}`, braces balanced, in time linear in the text."""

import re

_BRACE = re.compile(r"\\boxed\s*\{|\\fbox\s*\{|\\\\|\\\{|\\\}|\{|\}")


def boxes(text: str) -> list[str]:
    r"""What stands in each closed `\boxed{}` of a text, in the order in which they open.

    A box that never closes holds nothing; of nested boxes both are given.
    """
    found: list[tuple[int, str]] = []
    open_braces: list[int | None] = []  # where a box's content starts; None for any other brace
    for brace in _BRACE.finditer(text):
        mark = brace.group()
        if mark.startswith(("\\boxed", "\\fbox")):
            open_braces.append(brace.end())
        elif mark == "{":
            open_braces.append(None)
        elif mark == "}" and open_braces:
            start = open_braces.pop()
            if start is not None:
                found.append((start, text[start : brace.start()].strip()))
    return [content for _, content in sorted(found)]


def last_boxed(text: str) -> str | None:
    r"""What stands in the last closed `\boxed{}`, or None where there is none."""
    found = boxes(text)
    return found[-1] if found else None
