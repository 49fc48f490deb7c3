"""Filling prompts."""

import re
from collections.abc import Mapping


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in their places, in one pass.

    Braces, tags or the names of places in the values are text like any other.

    Args:
        template: The text with its places.
        values: By place, as it stands in the template.
    """
    places = re.compile("|".join(re.escape(place) for place in values))
    return places.sub(lambda place: values[place.group()], template)
