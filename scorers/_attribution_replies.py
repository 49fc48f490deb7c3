"""Read which agent and which step a critic blames: by our rule, and by the published one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PUBLISHED_AGENT = re.compile(r"Agent Name:\s*([\w_]+)", re.IGNORECASE)
_PUBLISHED_STEP = re.compile(r"Step Number:\s*(\d+)", re.IGNORECASE)
# The name may run over lines: a reply that says "Prediction for" hides the next file.
_PUBLISHED_BLOCK = re.compile(r"Prediction for ([^:]+\.json):(.*?)(?=Prediction for|\Z)", re.DOTALL)
_BLOCK = re.compile(r"^Prediction for ([^:\n]+\.json):[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"^[\W_]*(agent name|step number)[\W_]*?:(.*)$", re.IGNORECASE | re.MULTILINE)
_INTEGER = re.compile(r"-?\d+")
_TAIL = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True)
class Blame:
    """The agent and the step that a reply names, each None if it was not read."""

    agent: str | None = None
    step: int | None = None


def read_blame(text: str) -> Blame:
    """Return the agent and the step that a reply names, each read on its own.

    The first line that starts with "agent name" gives the agent, up to its end. The first line that
    starts with "step number" gives the first integer after it. Markup and case do not matter.
    """
    found: dict[str, str] = {}
    for line in _LINE.finditer(text):
        found.setdefault(line[1].lower(), line[2])
    name = found.get("agent name", "").strip(" \t*_`\"'.")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    number = _INTEGER.search(found.get("step number", ""))
    return Blame(name if plain_name(name) else None, int(number[0]) if number else None)


def plain_name(name: str) -> str:
    """Return a name without a bracketed tail and without everything but letters and digits."""
    return re.sub(r"[\W_]", "", _TAIL.sub("", name)).lower()


def read_blame_published(text: str) -> tuple[str, str] | None:
    """Return the word after `Agent Name:` and the digits after `Step Number:`, or None."""
    agent, step = _PUBLISHED_AGENT.search(text), _PUBLISHED_STEP.search(text)
    return (agent[1], step[1]) if agent and step else None


def published_hits(read: tuple[str, str] | None, agent: str, step: int) -> tuple[bool, bool]:
    """Return whether agent and step are right by the published rule.

    The true name must be a part of the word, and the true number a part of the digits: 1 is right
    for 10, 12 and 21.
    """
    return (False, False) if read is None else (agent in read[0], str(step) in read[1])


def prediction_text(agent: str, step: int) -> str:
    """Return an agent and a step in the form that the published script reads."""
    return f"Agent Name: {agent}\nStep Number: {step}"


def predictions(text: str) -> dict[str, str]:
    """Return the prediction for each file in a log of predictions. The last one counts."""
    heads = list(_BLOCK.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[1]: text[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def published_predictions(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the predictions that the published script reads, with the names of their files."""
    for block in _PUBLISHED_BLOCK.finditer(text):
        if (read := read_blame_published(block[2])) is not None:
            yield block[1].strip(), read
