"""Arguments of tasks, as they are typed."""

from collections.abc import Iterable
from typing import Any

import yaml

from misstep.registry._errors import MisstepError
from misstep.registry._yaml import parse_yaml


def task_arguments(given: Iterable[str]) -> dict[str, Any]:
    """Texts `name=value` as Inspect reads them: the value is YAML, and `a,b` a list.

    Raises:
        MisstepError: Something else.
    """
    return dict(map(_argument, given))


def _argument(text: str) -> tuple[str, Any]:
    name, equals, written = text.partition("=")
    if not equals or not name:
        raise MisstepError(f"'{text}' is no argument of a task; write -T name=value")
    try:
        value = parse_yaml(written)
    except yaml.YAMLError as problem:
        detail = " ".join(str(problem).split())
        raise MisstepError(f"-T {text}: the value is not valid YAML: {detail}") from None
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    return name.replace("-", "_"), value
