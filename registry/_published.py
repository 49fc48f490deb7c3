"""Numbers printed in papers, to stand beside our own: `published.yaml`."""

from typing import Annotated

from pydantic import Field

from misstep.registry._read import Fact, read_facts

Percent = Annotated[float, Field(ge=0, le=100)]


class Accuracies(Fact):
    """One cell group of a published table, in percent; F1 alone where the rest is not printed."""

    error: Percent | None = None
    correct: Percent | None = None
    f1: Percent


class Sections(Fact):
    """The figures of all erroneous sections together, in percent, each a mean over solutions."""

    precision: Percent
    recall: Percent
    f1: Percent


class Result(Fact):
    """One model's row."""

    protocol: str
    """How the model was asked: a key of the table's `protocols`."""
    subsets: dict[str, Accuracies]
    mean_f1: Percent | None = None
    """Of the subsets, where it is printed."""
    overall: Sections | None = None
    """Of all rows, for DeltaBench."""


class Table(Fact):
    """A published table."""

    eval: str
    source: str
    protocols: dict[str, str]
    results: dict[str, Result]


def published() -> dict[str, Table]:
    """All published tables by name."""
    return read_facts("published.yaml", Table)
