"""Models that Inspect does not have.

`embedded/…` runs in this process, `replay/…` answers from recorded outputs, `imported/…` names the
model of a run made elsewhere. `lean/…` is any OpenAI-compatible service, called with less CPU time.

Imported at every start of Inspect, so what an embedded model needs is imported when one is made.
"""

from inspect_ai.model import ModelAPI, modelapi

from misstep.providers._asked import set_call_purpose
from misstep.providers._imported import ImportedAPI
from misstep.providers._replay import ReplayAPI
from misstep.providers._step_scores import ScoresSteps, scoring_messages

__all__ = [
    "ScoresSteps",
    "embedded",
    "imported",
    "lean",
    "replay",
    "scoring_messages",
    "set_call_purpose",
]


@modelapi(name="embedded")
def embedded() -> type[ModelAPI]:
    """GGUF chat models, run by llama.cpp inside this process."""
    from misstep.providers._embedded import EmbeddedAPI

    return EmbeddedAPI


@modelapi(name="replay")
def replay() -> type[ModelAPI]:
    """Recorded outputs, answered again by the id of the running sample."""
    return ReplayAPI


@modelapi(name="imported")
def imported() -> type[ModelAPI]:
    """The model of a run made elsewhere, known by its results alone."""
    return ImportedAPI


@modelapi(name="lean")
def lean() -> type[ModelAPI]:
    """OpenAI-compatible services, called with little work of the processor."""
    from misstep.providers._lean import LeanAPI

    return LeanAPI
