"""What a provider refused: read from the error of a failed call, in the words of real servers."""

import re
from collections.abc import Awaitable, Hashable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from inspect_ai.model import Model, ModelAPI, ModelName, ModelOutput, model_roles

from misstep._inspect_private import active_model
from misstep.providers._http import short_texts, shortened_text
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


_LONGEST, _LONGEST_OF_API = 3_000, 1_000
"""Characters of an error message, and of one that an API gives, to which Inspect adds the request.
Inspect takes quadratic time to print and log a longer one."""


@contextmanager
def short_errors(*models: Model) -> Iterator[None]:
    """Shorten the messages of errors inside the `with` block: a server can send any text.

    Args:
        models: Models that are called, if they are not the model under test or that of a role.
    """
    for known in (active_model(), *model_roles().values(), *models):
        for model in known if isinstance(known, list) else [known]:
            if model is not None:
                shorten_errors_of(model.api)
    try:
        yield
    except Exception as error:
        _shorten(error)
        raise


_SHORT = "misstep_short_errors"
"""The attribute that marks a method that shortens errors."""


def shorten_errors_of(api: ModelAPI) -> None:
    """Make the API of a model shorten the messages of its errors.

    Inspect formats an error, with its traceback, when the API raises or returns it. So this one
    object gets a method `generate` that shortens errors first. No class is changed.
    """
    whole = api.generate
    if hasattr(whole, _SHORT):
        return

    @wraps(whole)
    async def generate(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        try:
            result = await whole(*arguments, **options)
        except Exception as error:
            _shorten(error, _LONGEST_OF_API)
            raise
        output = result[0] if isinstance(result, tuple) else result
        if isinstance(output, Exception):
            _shorten(output, _LONGEST_OF_API)
        return result

    setattr(generate, _SHORT, True)
    api.generate = generate  # type: ignore[method-assign]


def _shorten(error: BaseException, longest: int = _LONGEST) -> None:
    """Shorten the texts of an error and of its causes, wherever SDKs keep them."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    for one in chain:
        if any(isinstance(part, str) and len(part) > longest for part in one.args):
            one.args = tuple(
                shortened_text(part, longest) if isinstance(part, str) else part
                for part in one.args
            )
        for name in ("message", "provider_message"):
            text = getattr(one, name, None)
            if isinstance(text, str) and len(text) > longest:
                _set(one, name, shortened_text(text, longest))
        if isinstance(body := getattr(one, "body", None), str | dict | list):
            _set(one, "body", short_texts(body))


def _set(error: BaseException, name: str, value: object) -> None:
    with suppress(AttributeError):  # of some errors it is a property
        setattr(error, name, value)


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
