"""The evals and their variants: `evals.yaml`."""

from typing import Any

from pydantic import Field

from misstep.registry._read import Fact, read_facts

CHARACTERS_A_TOKEN = 3
"""A careful estimate: English prose has four, formulas and code fewer."""


class Size(Fact):
    """What a run takes at its default settings."""

    samples: int = Field(gt=0)
    prompt_tokens: int = Field(gt=0)
    """Of all samples together."""
    completion_tokens: int = Field(gt=0)
    """Of all samples together."""

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class Variant(Fact):
    """A named set of task arguments."""

    description: str
    args: dict[str, Any]
    size: Size
    reference: dict[str, Any] | None = None
    """For a set that needs no download, further arguments of its reference results."""


class Eval(Fact):
    """A benchmark: the base task of one file in `evals/`."""

    description: str
    version: int = Field(gt=0)
    """Counted up when a change makes new figures incomparable with old ones."""
    size: Size
    variants: dict[str, Variant] = Field(default_factory=dict)


def evals() -> dict[str, Eval]:
    """All evals by name."""
    return read_facts("evals.yaml", Eval)
