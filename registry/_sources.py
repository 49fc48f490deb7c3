"""Where rows and published wordings come from: `sources.yaml`, `corpora.yaml`, `wordings.yaml`."""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from misstep.registry._facts import Fact, FactFile

RowKind = Literal[
    "first_error",
    "error_sections",
    "wrong_steps",
    "trajectory",
    "attribution",
    "mistake",
    "problem",
    "solution",
]
"""What the rows of a source hold; `ROW_KINDS` describes each."""

ROW_KINDS: dict[RowKind, str] = {
    "first_error": "worked solutions with their first wrong step (problem, steps, label)",
    "error_sections": "solutions with all their erroneous sections (question, sections, "
    "reason_error_section_numbers)",
    "trajectory": "labelled trajectories of agents (messages, step_labels)",
    "attribution": "logs of failed agents with the decisive mistake (question, history, "
    "mistake_agent, mistake_step)",
    "wrong_steps": "solutions with all their wrong steps (modified_question, modified_process, "
    "error_steps)",
    "mistake": "reasoning with its first mistake (input, steps, target, mistake_index)",
    "problem": "problems with answers (problem, answer)",
    "solution": "worked solutions without labels (problem, solution)",
}

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

_COMMIT = re.compile(r"[0-9a-f]{40}")


class SourceFile(Fact):
    """One file of a source, with the pins that its copy is checked against."""

    path: str
    """The path in its repository. Its last part is its name in the offline mirror."""
    subset: str | None = None
    """The subset that the file contains; None if the rows name their subsets."""
    rows: int = Field(gt=0)
    errors: int | None = None
    """The number of rows with an error, if it is published."""
    subsets: dict[str, int] = Field(default_factory=dict)
    """The number of rows of each subset, if one file has several and the numbers are published."""
    numbered: bool = False
    """Whether each row has a file of its own: `{number}` in the path counts them from 1."""
    sha256: Sha256 | None = None
    """The checksum of the published file. If it is unknown, the commit and the number of rows pin
    the file."""
    only: dict[str, str] = Field(default_factory=dict)
    """Use only the rows with these values of columns."""
    mirrored: str | None = None
    """Another path in the offline mirror, tried first: the same rows, possibly in another
    format."""

    @model_validator(mode="after")
    def _subsets_make_up_the_rows(self) -> "SourceFile":
        if self.subsets and sum(self.subsets.values()) != self.rows:
            raise ValueError(f"the subsets have {sum(self.subsets.values())} rows of {self.rows}")
        return self

    @property
    def name(self) -> str:
        """The file's name in the offline mirror; with its folder if each row has its own file."""
        return "/".join(self.path.split("/")[-2 if self.numbered else -1 :])


class Generated(Fact):
    """Rows that the generator adds to the rows of the files."""

    subset: str
    """The subset of these rows. It keeps their results apart."""
    seed: int = Field(ge=0)
    rows: int = Field(gt=0)


class Source(Fact):
    """A registered source of rows."""

    description: str
    kind: RowKind
    home: Literal["hub", "github", "package", "file"]
    """A data set on the Hugging Face hub, a repository on GitHub, this package itself, or files on
    this machine. Paths of such files are relative to the folder of the user's registry."""
    repository: str | None = None
    revision: str | None = None
    """For GitHub the full commit, which pins the files."""
    licence: str
    files: list[SourceFile] = Field(min_length=1)
    """In loading order."""
    generated: Generated | None = None
    """Rows that follow the rows of the files."""
    rows_alone: bool = False
    """Neither a commit nor a checksum is known, so only the number of rows is checked."""
    row_pins: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Values that other copies do not have, by id and field: they identify the pinned copy."""
    known_label_errors: dict[str, str] = Field(default_factory=dict)
    """Ids whose labels are reported as wrong, each with the report."""

    @property
    def all_files(self) -> list[SourceFile]:
        """The files; an entry of numbered files is replaced by one entry for each."""
        return [
            one
            for file in self.files
            for one in (
                [
                    file.model_copy(
                        update={"path": file.path.replace("{number}", str(number)), "rows": 1}
                    )
                    for number in range(1, file.rows + 1)
                ]
                if file.numbered
                else [file]
            )
        ]

    @property
    def lacks(self) -> str | None:
        """What pin the source lacks: a revision or checksums; None if it has both."""
        without = [file.path for file in self.files if file.sha256 is None]
        if not without:
            found = self.revision is not None or self.home in ("package", "file")
            return None if found else "no revision; the sha256 of each file pins it"
        files = "the file" if len(self.files) == 1 else f"{len(without)} of {len(self.files)} files"
        known = "the commit pins it" if self.home == "github" else "the revision pins it"
        if self.revision is None:
            known = "no revision either; only the rows are counted"
        return f"no sha256 of {files}; {known}"

    @model_validator(mode="after")
    def _is_pinned(self) -> "Source":
        if self.home in ("hub", "github") and self.repository is None:
            raise ValueError(f"home is {self.home!r}, so a repository is needed")
        pinned = self.home == "github" and _COMMIT.fullmatch(self.revision or "") is not None
        if self.home == "github" and not pinned:
            raise ValueError("home is 'github', so the revision must be a full commit")
        if not pinned and not self.rows_alone and any(file.sha256 is None for file in self.files):
            raise ValueError("sha256 is needed because no GitHub commit pins the files")
        return self


sources = FactFile("sources.yaml", Source, "source")
find_source = sources.find


class Corpus(Fact):
    """A registered collection of worked solutions on the Hugging Face hub."""

    description: str
    repository: str
    split: str
    rows: int | None = Field(default=None, gt=0)
    """The number of rows, if it is published."""
    licence: str
    mirrored: list[str] = Field(min_length=1)
    """Patterns of file names in the offline mirror."""


corpora = FactFile("corpora.yaml", Corpus, "corpus")


Wording = Literal["own", "published"]
"""Whose words a prompt uses: `own` are those of this package; `published` are those of the
benchmark's authors, read at run time from their repository."""


class WordingText(Fact):
    """Where one text is in a Python file."""

    name: str
    """The variable, the key of a dict or the keyword argument whose value it is; `return` for the
    value that a function returns."""
    function: str | None = None
    """The function that contains it; None for the top level of the file."""
    nth: int = Field(default=0, ge=0)
    """Which one, if the name has several values there."""
    slots: dict[str, str] = Field(default_factory=dict)
    """Our names of the values that the text is filled with, each with the expression that stands
    for it in the file."""
    sha256: Sha256
    """The checksum of the text as `text_sha256` computes it."""


class WordingFile(Fact):
    """A file that contains published wording."""

    path: str
    """The path in its repository. Its last part is its name in the offline mirror."""
    sha256: Sha256 | None = None
    """The checksum of the file. If it is unknown, the commit pins the file, and the checksums of
    its texts are checked."""
    evaluated: str | None = None
    """A JSON file in the offline mirror, tried first: the values of the file's constants."""
    key: str | None = None
    """The key of this file's constants in the JSON file."""
    texts: dict[str, WordingText] = Field(min_length=1)

    @property
    def name(self) -> str:
        """The file's name in the offline mirror."""
        return self.path.rpartition("/")[2]


class WordingSource(Fact):
    """The published wording of a benchmark, which is not ours to distribute."""

    repository: str
    """On GitHub."""
    revision: Annotated[str, StringConstraints(pattern=_COMMIT)]
    licence: str
    files: list[WordingFile] = Field(min_length=1)


wordings = FactFile("wordings.yaml", WordingSource, "published wording")
find_wording = wordings.find
