"""Registry files: YAML that people edit, read into models that refuse unknown keys.

Users add entries in files of the same names in their own registry: see `user_registry`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from misstep.registry._user_input import (
    RegistryError,
    UnknownNameError,
    did_you_mean,
    read_yaml,
    user_path,
)

FOLDER = Path(__file__).parent
REGISTRY_VARIABLE = "MISSTEP_REGISTRY"
USER_FILES = (
    "domains.yaml",
    "evals.yaml",
    "judges.yaml",
    "prices.yaml",
    "prms.yaml",
    "sources.yaml",
)
"""The registry files that users can extend."""

T = TypeVar("T")


def user_registry() -> Path:
    """Return the folder of the user's own registry, which need not exist.

    It is the folder that `MISSTEP_REGISTRY` names, or `~/.config/misstep`. A file in it has the
    name and the format of one of `USER_FILES`, e.g. `prms.yaml`. Its entries are added to those of
    the package and checked in the same way. To add an entry from code, append it to the file
    `user_registry() / "prms.yaml"`, then call `read_facts.cache_clear()`.
    """
    if named := os.environ.get(REGISTRY_VARIABLE):
        return user_path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "misstep"


def _user_folder() -> Path | None:
    """Return the folder of the user's own registry if it exists; check the names of its files."""
    folder = user_registry()
    if not folder.is_dir():
        if os.environ.get(REGISTRY_VARIABLE):
            raise RegistryError(
                f"{folder}: no such folder. {REGISTRY_VARIABLE} must name a folder with "
                f"registry files: {', '.join(USER_FILES)}."
            )
        return None
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        if path.name not in USER_FILES:
            raise RegistryError(
                f"{path}: unknown registry file.{did_you_mean(path.name, USER_FILES)}"
            )
    return folder


class Fact(BaseModel):
    """An entry of a registry file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@cache
def read_facts(file: str, shape: type[T], folder: Path = FOLDER) -> T:
    """Return the content of a registry file, whose type is e.g. `dict[str, Source]`.

    An error names the file, the key and the closest match.
    """
    content = read_yaml(folder / file)
    try:
        return TypeAdapter(shape).validate_python(content)
    except ValidationError as problem:
        lines = [_explain(error, shape) for error in problem.errors(include_url=False)]
        raise RegistryError(f"{folder / file}:\n" + "\n".join(f"  {x}" for x in lines)) from None


def _explain(error: Any, shape: type[Any]) -> str:  # noqa: ANN401
    where = ".".join(str(part) for part in error["loc"] if part != "[key]") or "(top level)"
    if error["type"] == "extra_forbidden":
        close = did_you_mean(str(error["loc"][-1]), sorted(set(_keys(shape))))
        return f"{where}: unknown key.{close}"
    value = "" if error["type"] == "missing" else f" (the value is {error['input']!r})"
    return f"{where}: {error['msg']}{value}"


def _keys(annotation: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the keys of a model and of the models inside it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield name
            yield from _keys(field.annotation)
    else:
        for inner in get_args(annotation):
            yield from _keys(inner)


def find_fact(kind: str, name: str | None, known: Mapping[str, T]) -> T:
    """Return the entry with this name, or raise an error that names the kind and lists `known`."""
    if name is None or name not in known:
        raise UnknownNameError(kind, name, known)
    return known[name]


def refuse_taken_names(file: Path, kind: str, own: Iterable[str], taken: Iterable[str]) -> None:
    """Raise an error if a user's entry has the name of an entry of the package."""
    if both := sorted(set(own) & set(taken)):
        raise RegistryError(
            f"{file}: {', '.join(both)}: misstep itself has a {kind} of this name, and a name must "
            "mean the same everywhere. Choose another name."
        )


@dataclass(frozen=True)
class FactFile(Generic[T]):
    """A registry file that maps names to entries. It is read at its first use."""

    file: str
    """Its name. If it is one of `USER_FILES`, users can add entries."""
    entry: type[T]
    kind: str
    """What the entries are, for messages."""
    default: str | None = None
    """The entry that is found without a name."""
    replaceable: bool = False
    """Whether a user's entry may replace an entry of the package."""

    def __call__(self) -> dict[str, T]:
        """Return all entries by name: those of the package, then the user's own."""
        folder = _user_folder() if self.file in USER_FILES else None
        if folder is None or not (folder / self.file).is_file():
            return self.bundled()
        return self._extend(self.bundled(), folder)

    def bundled(self) -> dict[str, T]:
        """Return the entries of the package by name."""
        facts: dict[str, T] = read_facts(self.file, dict[str, self.entry])  # type: ignore
        return facts

    def _extend(self, facts: dict[str, T], folder: Path) -> dict[str, T]:
        """Return the entries with those of the same file in the user's folder."""
        own: dict[str, T] = read_facts(self.file, dict[str, self.entry], folder)  # type: ignore
        if not self.replaceable:
            refuse_taken_names(folder / self.file, self.kind, own, facts)
        return facts | own

    def find(self, name: str | None = None) -> T:
        """Return the entry with this name, or raise an error that names the closest match."""
        return find_fact(self.kind, self.default if name is None else name, self())


class Price(Fact):
    """A model's list price, in dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    source: str
    date: date
    """When the source was read."""


prices = FactFile("prices.yaml", Price, "model with a known price", replaceable=True)
"""All known prices, by the model's name in Inspect."""


def service_model(name: str) -> str:
    """Return a model's name without `lean/`, which is a way to call a model, not another model."""
    return name.removeprefix("lean/")


def price_of(model: str) -> Price | None:
    """Return the price of a model by its name in Inspect; None if it is unknown."""
    return prices().get(service_model(model))


class ProviderFacts(Fact):
    """What a provider of Inspect accepts and how it handles the end of a conversation."""

    continues: bool = False
    """Whether it continues a trailing assistant message."""
    continue_with: dict[str, Any] = Field(default_factory=dict)
    """Request fields that make it continue, if it does not by default."""
    new_turn_with: dict[str, Any] | None = None
    """Request fields that make it begin a new message, if it does not by default; None if there
    are none."""
    stop_in_text_with: dict[str, Any] = Field(default_factory=dict)
    """Request fields that keep a stop string in the text. They show whether a text ended at the
    stop string or by itself."""
    late_system: bool = True
    """Whether a system message may come after other messages. If not, Inspect moves it to the top,
    or the provider refuses it."""
    white_space_ends: bool = True
    """Whether it accepts stop sequences of white space, and a trailing assistant message that ends
    in white space."""
    without_logprobs: str | None = None
    """A regular expression for the names of models that give no logprobs."""

    def gives_logprobs(self, model: str) -> bool:
        """Return whether a model, by its name without the provider, gives logprobs."""
        return self.without_logprobs is None or not re.match(self.without_logprobs, model)


_providers = FactFile("providers.yaml", ProviderFacts, "provider")


def find_provider(name: str) -> ProviderFacts:
    """Return the provider with this name; a provider that is not listed begins a new message."""
    return _providers().get(name, ProviderFacts())


Percent = Annotated[float, Field(ge=0, le=100)]


class PublishedAccuracies(Fact):
    """Published results on one subset, in percent; only F1 if the paper prints nothing else."""

    error: Percent | None = None
    correct: Percent | None = None
    f1: Percent


class PublishedSections(Fact):
    """Published results on all erroneous sections, in percent, each a mean over solutions."""

    precision: Percent
    recall: Percent
    f1: Percent


class PublishedResult(Fact):
    """One model's row of a published table."""

    protocol: str
    """How the model was asked: a key of the table's `protocols`."""
    subsets: dict[str, PublishedAccuracies] = Field(default_factory=dict)
    metrics: dict[str, Percent] = Field(default_factory=dict)
    """Other results on the whole benchmark, by the name of the metric."""
    mean_f1: Percent | None = None
    """The mean over the subsets, if it is printed."""
    overall: PublishedSections | None = None
    """Results on all rows, for DeltaBench."""


class PublishedTable(Fact):
    """A published table."""

    eval: str
    data: str | None = None
    """The registered source of its rows, if it is not named like the eval."""
    source: str
    wording: bool = False
    """The numbers depend on the published prompt: they are shown beside runs that use it, and
    beside runs that have no prompt, such as those of reward models."""
    protocols: dict[str, str]
    commands: dict[str, str] = Field(default_factory=dict)
    """The command that makes such a number, by protocol. Some protocols have none here."""
    factors: dict[str, int] = Field(default_factory=dict)
    """How many times the tokens of the eval's default a protocol takes, if it takes more."""
    results: dict[str, PublishedResult]


published = FactFile("published.yaml", PublishedTable, "published table")
"""Numbers printed in papers, for comparison."""


class RecordedOutputs(Fact):
    """Outputs of real models that others recorded and published."""

    title: str
    eval: str
    files: list[str] = Field(min_length=1)
    """Patterns of paths in a folder of records."""
    published_files: list[str] = Field(default_factory=list)
    """Patterns of the paths in the publisher's own folders. They count if `files` are not there."""
    origin: str
    source: str | None = None
    """The source of the rows, if the files do not tell."""
    model: str | None = None
    """The name of the model, if the files do not tell."""
    partial: bool = False
    """Whether step scores end before the last step."""
    table: str | None = None
    """The published table with numbers of these models."""
    protocols: list[str] = Field(default_factory=list)
    """The protocols of the table that the records follow; empty for all."""
    names: dict[str, str] = Field(default_factory=dict)
    """The names of models in the table, if they differ."""
    scorer: str = "first_error"
    """The scorer with the published rule."""
    figures: dict[str, dict[str, dict[str, Percent]]] = Field(default_factory=dict)
    """Numbers for exactly these records, by model, scorer and metric."""
    figures_from: str = ""
    """Who computed the figures."""
    figures_rows: int | None = None
    """The number of rows that the figures are for, if the records may have more or fewer."""
    notes: list[str] = Field(default_factory=list)
    """Why numbers differ, and which are not comparable."""


records = FactFile("records.yaml", RecordedOutputs, "record")
"""Recorded outputs that reference results are computed from."""


class Citation(Fact):
    """A paper to cite for evals and sources."""

    title: str
    author: str
    year: int
    arxiv: str
    evals: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)


citations = FactFile("citations.yaml", Citation, "citation")
"""What to cite."""


class LogicalError(Fact):
    """A kind of logical error."""

    description: str
    example: str


taxonomy = FactFile("taxonomy.yaml", LogicalError, "error type")
"""The kinds of logical error that are injected."""
