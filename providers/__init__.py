"""Model providers that Inspect does not have.

- `embedded/…` runs a GGUF model in this process.
- `replay/…` answers from recorded outputs.
- `imported/…` names the model of a run that was made elsewhere.
- `lean/…` calls any OpenAI-compatible service with less CPU time.

Inspect imports this package at each start, so slow imports stand inside functions.
"""

from inspect_ai.model import ModelAPI, modelapi

from misstep.providers._calls import (
    HttpClient,
    Refusal,
    check_logprobs,
    collect,
    output_or_too_long,
    refusal_in,
    refusal_of,
    remembered_refusals,
    retry_wait,
    short_errors,
)
from misstep.providers._provider import (
    ModelRequest,
    Provider,
    Response,
    read_scoring_messages,
    scored_output,
    scoring_messages,
    set_call_purpose,
    unscored_output,
)
from misstep.providers._weights import find_weights


@modelapi(name="embedded")
def embedded() -> type[ModelAPI]:
    """Return the provider of GGUF chat models that llama.cpp runs in this process."""
    from misstep.providers._embedded import EmbeddedAPI

    return EmbeddedAPI


@modelapi(name="replay")
def replay() -> type[ModelAPI]:
    """Return the provider that answers each sample from recorded outputs."""
    from misstep.providers._replay import ReplayAPI

    return ReplayAPI


@modelapi(name="imported")
def imported() -> type[ModelAPI]:
    """Return the provider that names the model of a run made elsewhere."""
    from misstep.providers._provider import ImportedAPI

    return ImportedAPI


@modelapi(name="lean")
def lean() -> type[ModelAPI]:
    """Return the provider that calls OpenAI-compatible services with little CPU time."""
    from misstep.providers._lean import LeanAPI

    return LeanAPI
