"""How a judge is asked about one step at a time: `judges.yaml`."""

from typing import Literal

from pydantic import Field, model_validator

from misstep.registry._read import Fact, find_fact, read_facts


class Judge(Fact):
    """A style of judging step by step."""

    system: str | None = None
    first: str
    """The user's first turn, or every prompt where there is no `next`."""
    next: str | None = None
    """The user's later turns."""
    history: str | None = None
    """The judge's earlier replies, as the conversation shows them."""
    reply: Literal["token", "box"]
    """How a reply is read: by its first characters, or by its last verdict in a box."""
    right: list[str] = Field(min_length=1)
    wrong: list[str] = Field(min_length=1)
    temperature: float = Field(ge=0)
    max_tokens: int = Field(gt=0)

    @model_validator(mode="after")
    def _converses_or_not(self) -> "Judge":
        if (self.next is None) != (self.history is None):
            raise ValueError("`next` and `history` go together: the turns of one conversation")
        return self


def judges() -> dict[str, Judge]:
    """All styles of judging by name."""
    return read_facts("judges.yaml", Judge)


def find_judge(name: str) -> Judge:
    """The style of judging of that name, or an error that lists the close ones."""
    return find_fact("style of judging", name, judges())
