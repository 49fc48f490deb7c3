"""How a critic is asked for all erroneous sections: `sections.yaml`."""

from pydantic import Field, field_validator

from misstep.registry._domains import PROBLEM
from misstep.registry._read import Fact, find_fact, read_facts

SECTIONS = "{sections}"
ANSWER = "{answer}"


class SectionsPrompt(Fact):
    """A prompt and the settings that go with it."""

    template: str
    """The prompt, with the places `{answer}`, `{problem}` and `{sections}`."""
    text: str
    """How to answer in words; goes to `{answer}`."""
    structured: str
    """How to answer where the reply is held to a JSON schema."""
    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)

    @field_validator("template")
    @classmethod
    def _has_its_places(cls, template: str) -> str:
        for place in (ANSWER, PROBLEM, SECTIONS):
            if template.count(place) != 1:
                raise ValueError(f"the template must hold {place} exactly once")
        return template


def sections_prompts() -> dict[str, SectionsPrompt]:
    """All prompts by name."""
    return read_facts("sections.yaml", SectionsPrompt)


def find_sections_prompt(name: str = "deltabench") -> SectionsPrompt:
    """The prompt of that name, or an error that lists the close ones."""
    return find_fact("sections prompt", name, sections_prompts())
