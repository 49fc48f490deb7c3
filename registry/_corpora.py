"""Worked solutions that sets are built from: `corpora.yaml`."""

from pydantic import Field

from misstep.registry._read import Fact, find_fact, read_facts


class Corpus(Fact):
    """A registered collection of worked solutions on the Hugging Face hub."""

    description: str
    repository: str
    split: str
    rows: int | None = Field(default=None, gt=0)
    """How many there are, where that is published."""
    licence: str
    mirrored: list[str] = Field(min_length=1)
    """Patterns of files in the offline mirror."""


def corpora() -> dict[str, Corpus]:
    """All registered corpora by name."""
    return read_facts("corpora.yaml", Corpus)


def find_corpus(name: str) -> Corpus:
    """The corpus of that name, or an error that lists the close ones."""
    return find_fact("source (nor is it a file)", name, corpora())
