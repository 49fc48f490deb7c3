"""Where rows come from: `sources.yaml`."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from misstep.registry._read import Fact, find_fact, read_facts

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class SourceFile(Fact):
    """One file of a source, with the pins that its copy is checked against."""

    path: str
    """Where the file stands in its repository; its last part is its name in the offline mirror."""
    subset: str | None = None
    """The subset that the file holds; without it, rows name their own."""
    rows: int = Field(gt=0)
    errors: int | None = None
    """How many rows have an error, where that is published."""
    sha256: Sha256

    @property
    def name(self) -> str:
        """The file's name in the offline mirror."""
        return self.path.rpartition("/")[2]


class Source(Fact):
    """A registered source of rows."""

    description: str
    home: Literal["hub", "package"]
    """A data set of the Hugging Face hub, or this package itself."""
    repository: str | None = None
    revision: str | None = None
    licence: str
    files: list[SourceFile] = Field(min_length=1)
    """In the order in which they are loaded."""
    known_label_errors: dict[str, str] = Field(default_factory=dict)
    """Ids whose labels are reported to be wrong, with who reported them."""

    @model_validator(mode="after")
    def _has_a_home(self) -> "Source":
        if self.home != "package" and self.repository is None:
            raise ValueError(f"home is {self.home!r}, so a repository is needed")
        return self


def sources() -> dict[str, Source]:
    """All registered sources by name."""
    return read_facts("sources.yaml", Source)


def find_source(name: str) -> Source:
    """The source of that name, or an error that lists the close ones."""
    return find_fact("source", name, sources())
