"""Registry files: YAML that people edit, read into models that forbid what they do not know."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from misstep.registry._errors import RegistryError, UnknownNameError, did_you_mean
from misstep.registry._yaml import read_yaml

FOLDER = Path(__file__).parent

T = TypeVar("T")


class Fact(BaseModel):
    """An entry of a registry file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@cache
def read_facts(file: str, entry: type[T], folder: Path = FOLDER) -> dict[str, T]:
    """Read a registry file that maps names to entries.

    Args:
        file: Name of the file in the folder.
        entry: The model of one entry.
        folder: The registry folder.

    Raises:
        RegistryError: The file is missing, is not YAML, or does not fit the model; the message
            names the file, the key and the close match.
    """
    content = read_yaml(folder / file)
    try:
        return TypeAdapter(dict[str, entry]).validate_python(content)  # type: ignore[valid-type]
    except ValidationError as problem:
        lines = [_explain(error, entry) for error in problem.errors(include_url=False)]
        raise RegistryError(f"{folder / file}:\n" + "\n".join(f"  {x}" for x in lines)) from None


def find_fact(kind: str, name: str, known: Mapping[str, T]) -> T:
    """The entry of that name.

    Args:
        kind: What the entries are, for the message.
        name: The name that is looked for.
        known: All entries.

    Raises:
        UnknownNameError: There is none; the message lists the close ones.
    """
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return known[name]


def _explain(error: Any, entry: type[Any]) -> str:  # noqa: ANN401
    where = ".".join(str(part) for part in error["loc"] if part != "[key]") or "(top level)"
    if error["type"] == "extra_forbidden":
        return (
            f"{where}: unknown key.{did_you_mean(str(error['loc'][-1]), sorted(set(_keys(entry))))}"
        )
    value = "" if error["type"] == "missing" else f" (the value is {error['input']!r})"
    return f"{where}: {error['msg']}{value}"


def _keys(annotation: Any) -> Iterator[str]:  # noqa: ANN401
    """The keys of a model and of the models inside it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield name
            yield from _keys(field.annotation)
    else:
        for inner in get_args(annotation):
            yield from _keys(inner)
