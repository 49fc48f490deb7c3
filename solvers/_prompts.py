"""Filling a critique prompt."""

import re
from collections.abc import Sequence

from misstep.registry import PROBLEM, SOLUTION, Domain, Tag

_PLACES = re.compile(f"{re.escape(PROBLEM)}|{re.escape(SOLUTION)}")


def tagged(steps: Sequence[str], tag: Tag) -> str:
    """The steps, each in a numbered tag: `<paragraph_0>` and so on."""
    return "\n\n".join(f"<{tag}_{i}>\n{step}\n</{tag}_{i}>" for i, step in enumerate(steps))


def critique_prompt(domain: Domain, problem: str, steps: Sequence[str], tag: Tag | None) -> str:
    """The prompt for a critic.

    Both places are filled in one pass, so that braces, tags or place names in the values are text
    like any other.
    """
    values = {PROBLEM: problem, SOLUTION: tagged(steps, tag or domain.tag).strip()}
    return _PLACES.sub(lambda place: values[place.group()], domain.template)
