"""YAML that people write: read, or refused with one kind of error."""

from pathlib import Path
from typing import Any

import yaml

from misstep.registry._errors import RegistryError

_DEEPEST = 100
"""Lists and mappings inside of one another; libyaml ends the process at some ten thousand."""
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_Loader):  # type: ignore[misc]
    """YAML keeps the last of two equal keys, silently; here the second is a mistake."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:  # noqa: ANN401
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands twice", key_node.start_mark
            )
        seen.add(key)
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_yaml(text: str) -> Any:  # noqa: ANN401
    """The content of a YAML text, whoever wrote it.

    Raises:
        yaml.YAMLError: It has none.
    """
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"more than {_DEEPEST} lists and mappings inside of one another")
    return _content(text)


def read_yaml(path: Path) -> Any:  # noqa: ANN401
    """The content of a registry file.

    Raises:
        RegistryError: It cannot be read, or is not YAML.
    """
    try:
        return _content(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise RegistryError(f"{path}: cannot be read ({problem.strerror}).") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        detail = " ".join(str(problem).split())
        raise RegistryError(f"{path}: not valid YAML: {detail}") from None


def _content(text: str) -> Any:  # noqa: ANN401
    try:
        return _UniqueKeyLoader(text).get_single_data()
    except yaml.YAMLError:
        raise
    except Exception as problem:
        # A date in month 13, a list as a key: yaml lets through whatever comes up.
        raise yaml.YAMLError(f"a value that is none: {problem}") from None
