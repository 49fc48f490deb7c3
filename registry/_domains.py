"""How a critic is asked, by domain: `domains.yaml`."""

from typing import Literal

from pydantic import Field, field_validator

from misstep.registry._read import Fact, find_fact, read_facts

PROBLEM = "{problem}"
SOLUTION = "{tagged_response}"

Tag = Literal["paragraph", "step", "proof_step"]


class Domain(Fact):
    """A prompt and the settings that go with it."""

    template: str
    """The prompt, with the two places `{problem}` and `{tagged_response}`."""
    tag: Tag
    temperature: float = Field(ge=0)
    voting_temperature: float = Field(ge=0)
    max_tokens: int = Field(gt=0)

    @field_validator("template")
    @classmethod
    def _has_its_places(cls, template: str) -> str:
        for place in (PROBLEM, SOLUTION):
            if template.count(place) != 1:
                raise ValueError(f"the template must hold {place} exactly once")
        if any(ord(c) < 32 and c != "\n" for c in template):
            raise ValueError("the template holds a control character")
        return template


def domains() -> dict[str, Domain]:
    """All domains by name."""
    return read_facts("domains.yaml", Domain)


def find_domain(name: str) -> Domain:
    """The domain of that name, or an error that lists the close ones."""
    return find_fact("domain", name, domains())
