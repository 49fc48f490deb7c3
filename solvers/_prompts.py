"""Filling prompts."""

import re
from collections.abc import Mapping, Sequence

from misstep.registry import PROBLEM, SOLUTION, Domain, Tag


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in their places, in one pass.

    Braces, tags or the names of places in the values are text like any other.

    Args:
        template: The text with its places.
        values: By place, as it stands in the template.
    """
    places = re.compile("|".join(re.escape(place) for place in values))
    return places.sub(lambda place: values[place.group()], template)


def tagged(steps: Sequence[str], tag: Tag) -> str:
    """The steps, each in a numbered tag: `<paragraph_0>` and so on."""
    return "\n\n".join(f"<{tag}_{i}>\n{step}\n</{tag}_{i}>" for i, step in enumerate(steps))


def critique_prompt(
    domain: Domain, problem: str, steps: Sequence[str], tag: Tag | None = None
) -> str:
    """The prompt for a critic of a whole solution."""
    return fill(domain.template, {PROBLEM: problem, SOLUTION: tagged(steps, tag or domain.tag)})
