"""Where rows come from: `sources.yaml`."""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from misstep.registry._read import Fact, find_fact, read_facts

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

_COMMIT = re.compile(r"[0-9a-f]{40}")


class SourceFile(Fact):
    """One file of a source, with the pins that its copy is checked against."""

    path: str
    """Where the file stands in its repository; its last part is its name in the offline mirror."""
    subset: str | None = None
    """The subset that the file holds; without it, rows name their own."""
    rows: int = Field(gt=0)
    errors: int | None = None
    """How many rows have an error, where that is published."""
    subsets: dict[str, int] = Field(default_factory=dict)
    """How many rows each subset has, where one file holds several and that is published."""
    sha256: Sha256 | None = None
    """Of the file as published; where it is not known, a commit and the number of rows pin it."""
    mirrored: str | None = None
    """Another place in the offline mirror, looked at first: the same rows, maybe in another
    format."""

    @model_validator(mode="after")
    def _subsets_make_up_the_rows(self) -> "SourceFile":
        if self.subsets and sum(self.subsets.values()) != self.rows:
            raise ValueError(f"the subsets have {sum(self.subsets.values())} rows of {self.rows}")
        return self

    @property
    def name(self) -> str:
        """The file's name in the offline mirror."""
        return self.path.rpartition("/")[2]


class Generated(Fact):
    """Rows that the generator adds to those of the files."""

    subset: str
    """Marks them, so that figures of the two stay apart."""
    seed: int = Field(ge=0)
    rows: int = Field(gt=0)


class Source(Fact):
    """A registered source of rows."""

    description: str
    home: Literal["hub", "github", "package"]
    """A data set of the Hugging Face hub, a repository on GitHub, or this package itself."""
    repository: str | None = None
    revision: str | None = None
    """Of GitHub the full commit, which pins what stands there."""
    licence: str
    files: list[SourceFile] = Field(min_length=1)
    """In the order in which they are loaded."""
    generated: Generated | None = None
    """What follows the files' rows."""
    rows_alone: bool = False
    """Neither a commit nor a checksum is known: the number of rows is all that is checked."""
    known_label_errors: dict[str, str] = Field(default_factory=dict)
    """Ids whose labels are reported to be wrong, with who reported them."""

    @model_validator(mode="after")
    def _has_a_home(self) -> "Source":
        if self.home != "package" and self.repository is None:
            raise ValueError(f"home is {self.home!r}, so a repository is needed")
        pinned = self.home == "github" and _COMMIT.fullmatch(self.revision or "") is not None
        if self.home == "github" and not pinned:
            raise ValueError("home is 'github', so the revision must be a full commit")
        if not pinned and not self.rows_alone and any(file.sha256 is None for file in self.files):
            raise ValueError("sha256 is needed where no commit of GitHub pins the files")
        return self


def sources() -> dict[str, Source]:
    """All registered sources by name."""
    return read_facts("sources.yaml", Source)


def find_source(name: str) -> Source:
    """The source of that name, or an error that lists the close ones."""
    return find_fact("source", name, sources())
