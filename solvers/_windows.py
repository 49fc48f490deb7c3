"""Fit a long solution or trajectory into a model's context: windows of whole steps.

The rule: steps are read in order. Each window shows the task, one line about each step before the
window (the latest ones, in at most a quarter of the room), and as many whole steps as fit. Reading
stops at the first window with an error. A quarter of the context, or less if replies are shorter,
is kept for the reply. A step is never cut: if one does not fit, there is no verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from misstep.registry import CHARACTERS_PER_TOKEN, Tag

_LINE = 200
"""Characters about a step before the window."""
_DIGEST = "Earlier steps, one line each. They were judged before:"


@dataclass(frozen=True)
class Window:
    """Some steps of a solution, as text."""

    text: str
    """The steps in numbered tags, after one line about each earlier step."""
    first: int
    end: int
    """The number after the last step."""

    @property
    def numbers(self) -> range:
        """The numbers of the steps."""
        return range(self.first, self.end)


def tagged(steps: Sequence[str], tag: Tag, first: int = 0) -> str:
    """Return the steps, each in a numbered tag: `<paragraph_0>` and so on."""
    numbered = enumerate(steps, start=first)
    return "\n\n".join(f"<{tag}_{i}>\n{step}\n</{tag}_{i}>" for i, step in numbered)


def windows(
    steps: Sequence[str],
    tag: Tag,
    context: int | None = None,
    around: int = 0,
    reply_tokens: int = 0,
) -> list[Window] | None:
    """Return the steps in windows that fit a context; None if one step does not fit.

    Args:
        steps: The steps.
        tag: The word for a step in its tag.
        context: The model's context in tokens. Without it, one window has all steps.
        around: The characters of the prompt without the steps.
        reply_tokens: The most tokens of a reply.
    """
    if context is None:
        return [Window(tagged(steps, tag), 0, len(steps))]
    room = (context - min(reply_tokens, context // 4)) * CHARACTERS_PER_TOKEN - around
    tags = 2 * len(tagged([""], tag, len(steps)))
    found: list[Window] = []
    first = 0
    while first < len(steps):
        digest = _digest(steps[:first], room // 4)
        used, end = len(digest), first
        while end < len(steps) and used + len(steps[end]) + tags <= room:
            used += len(steps[end]) + tags
            end += 1
        if end == first:
            return None
        found.append(Window(digest + tagged(steps[first:end], tag, first), first, end))
        first = end
    return found


def _digest(steps: Sequence[str], room: int) -> str:
    """Return one line about each of the latest steps that fit, or nothing before the first step."""
    lines: list[str] = []
    for i in reversed(range(len(steps))):
        own = " ".join(steps[i][max(0, steps[i].rfind(f"[step {i}] ")) :].split())
        line = own if len(own) <= _LINE else f"{own[: _LINE - 1]}…"
        if sum(map(len, lines)) + len(line) + len(_DIGEST) > room:
            break
        lines.insert(0, line)
    return "\n".join([_DIGEST, *lines, "", ""]) if lines else ""
