"""What a provider refused: read from the error of a failed call, in the words of real servers."""

import re
from collections.abc import Awaitable, Hashable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from weakref import WeakKeyDictionary

from inspect_ai.model import Model, ModelAPI, ModelName, ModelOutput, model_roles

from misstep._inspect_private import active_model
from misstep.providers._http import bound_error_bodies, shortened_text
from misstep.registry import ModelError, find_provider


class Refusal(StrEnum):
    """A request that a provider refuses for what it is. The same request would fail again."""

    TOO_LONG = "the prompt is too long"
    SEVERAL_CHOICES = "the provider returns one choice per request"
    TRAILING_MESSAGE = "the conversation must not end with an assistant message"
    LATE_SYSTEM = "a system message must come first"


_STATUSES = (400, 413, 422, None)
"""The HTTP statuses of a refusal. Errors without a status come from providers in this process."""

_WORDS = {
    Refusal.TOO_LONG: re.compile(
        r"maximum context length|context[_ ]length[_ ]exceeded|exceed_context_size"
        r"|exceeds? the (?:available |model's )?context|prompt is too long"
        r"|input (?:token count|length|is too long)|too large for model with \d+ maximum context"
        r"|reduce the length|longer than the (?:maximum )?model length|max_model_len",
        re.IGNORECASE,
    ),
    Refusal.SEVERAL_CHOICES: re.compile(
        r"""\bn_cmpl\b|\bn must be|invalid n\b|['"`]n['"`]|\bn\s?(?:=|>|:)|\bcandidate_?count"""
        r"|multiple (?:candidates|choices|completions)|(?:one|single) (?:completion )?choice",
        re.IGNORECASE,
    ),
    Refusal.TRAILING_MESSAGE: re.compile(
        r"prefill|(?:ends?|finish) with an? (?:user|human) (?:message|role|turn)"
        r"|(?:last|final) (?:message|role|turn)[^.]{0,40}\b(?:user|tool)\b|expected last role"
        r"|continue_final_message|add_generation_prompt",
        re.IGNORECASE,
    ),
    Refusal.LATE_SYSTEM: re.compile(
        r"system (?:message|role|prompt)[^.]{0,60}(?:begin|first|start|top|not supported)"
        r"|roles must alternate|unexpected role 'system'",
        re.IGNORECASE,
    ),
}


_remembered: WeakKeyDictionary[ModelAPI, set[Hashable]] = WeakKeyDictionary()


def remembered_refusals(api: ModelAPI) -> set[Hashable]:
    """Return what a model has refused so far in this process. Solvers add to it and look it up.

    A request that was refused once is not tried again.
    """
    return _remembered.setdefault(api, set())


def refusal_of(error: BaseException) -> Refusal | None:
    """Return what a provider refused, or None if the call failed for another reason."""
    codes = (getattr(error, name, None) for name in ("status_code", "code"))
    if next((code for code in codes if isinstance(code, int)), None) not in _STATUSES:
        return None
    # Inspect's own message repeats the request, whose text could contain any of these words.
    return refusal_in(getattr(error, "provider_message", None) or str(error.__cause__ or error))


def refusal_in(text: str) -> Refusal | None:
    """Return what a refusal with this text is about, or None if it is about something else."""
    return next((kind for kind, words in _WORDS.items() if words.search(text)), None)


_LONGEST = 3_000
"""Characters of an error message. Inspect takes quadratic time to print and log a longer one."""


@contextmanager
def short_errors() -> Iterator[None]:
    """Shorten the messages of errors inside the `with` block: a server can send any text.

    Inspect formats an error before it gets here, so its providers shorten error responses too.
    """
    for known in (active_model(), *model_roles().values()):
        for model in known if isinstance(known, list) else [known]:
            if model is not None:
                bound_error_bodies(model.api)
    try:
        yield
    except Exception as error:
        _shorten(error)
        raise


def _shorten(error: BaseException) -> None:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    for one in chain:
        if any(isinstance(part, str) and len(part) > _LONGEST for part in one.args):
            one.args = tuple(
                shortened_text(part, _LONGEST) if isinstance(part, str) else part
                for part in one.args
            )
        for name in ("message", "provider_message"):
            text = getattr(one, name, None)
            if isinstance(text, str) and len(text) > _LONGEST:
                setattr(one, name, shortened_text(text, _LONGEST))


async def output_or_too_long(model: str, call: Awaitable[ModelOutput]) -> ModelOutput:
    """Return the output of a call.

    If the prompt is refused for its length, the output has the stop reason `model_length`, as
    Inspect gives it for the providers whose refusal it knows.
    """
    try:
        with short_errors():
            return await call
    except Exception as error:
        if refusal_of(error) is not Refusal.TOO_LONG:
            raise
        reason = getattr(error, "provider_message", None) or str(error)
        return ModelOutput.from_content(model, reason[:500], stop_reason="model_length")


def check_logprobs(model: Model, need: str, instead: str) -> None:
    """Raise an error if a model is known to give no logprobs, which `need` says what for."""
    name = ModelName(model)
    if not find_provider(name.api).gives_logprobs(name.name):
        raise ModelError(f"{need} needs logprobs, and {model} gives none. {instead}")
