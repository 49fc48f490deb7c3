"""Process reward models, and how each is asked: `prms.yaml`."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from misstep.registry._domains import PROBLEM
from misstep.registry._read import Fact, find_fact, read_facts

STEP = "{step}"
STEPS = "{steps}"
NUMBER = "{number}"


class Prm(Fact):
    """A process reward model."""

    repository: str
    """On the Hugging Face hub."""
    way: Literal["scores", "judge"]
    """It scores the steps of a solution in one request, or is asked about each as a chat model."""
    style: str | None = None
    """Of a judge: its style in `judges.yaml`."""
    route: Literal["/pooling", "/classify"] | None = None
    """Where vLLM answers it."""
    returns: Literal["steps", "tokens", "input"] | None = None
    """What there is a result for: each step's token, every token, or the whole input, which then
    ends with the step that is scored."""
    template: str | None = None
    """The whole input, with the places `{problem}` and `{steps}`."""
    step: str | None = None
    """One step with its separator: `{step}` is its text, `{number}` counts from 1."""
    step_token: str | None = None
    """The separator whose result is the step's."""
    labels: list[str] | None = Field(default=None, min_length=2)
    """What a result's values stand for, in order; a result of one value has none."""
    right: str | None = None
    """The label of a right step."""
    values: Literal["probabilities", "logits"] | None = None
    """Whether a server's results are probabilities already."""
    head: Literal["token_classification", "causal_lm", "own_code"] | None = None
    """How transformers load it; `own_code` is code out of its repository."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    serve: str | None = None
    """The command that serves it, where that takes more than its name."""
    sources: dict[str, str] = Field(min_length=1)
    """Where each fact is from."""

    @model_validator(mode="after")
    def _is_complete(self) -> "Prm":
        if self.way == "judge":
            if self.style is None:
                raise ValueError("a judge needs its style")
            return self
        wanted = ("route", "returns", "template", "step", "step_token", "values")
        if missing := [name for name in wanted if getattr(self, name) is None]:
            raise ValueError(f"a model that scores steps needs {', '.join(missing)}")
        for place, text in ((PROBLEM, self.template), (STEPS, self.template), (STEP, self.step)):
            if str(text).count(place) != 1:
                raise ValueError(f"{place} must stand exactly once")
        if str(self.step_token) not in str(self.step):
            raise ValueError("the step must hold its step_token")
        fits = self.right in self.labels if self.labels else self.right is None
        if not fits:
            raise ValueError("`right` must be one of the `labels`, where there are any")
        return self


def prms() -> dict[str, Prm]:
    """All process reward models by name."""
    return read_facts("prms.yaml", Prm)


def find_prm(name: str) -> Prm:
    """The reward model of that name, or an error that lists the close ones."""
    return find_fact("process reward model", name, prms())
