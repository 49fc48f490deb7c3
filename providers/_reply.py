"""Reading what llama.cpp streams back."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Choice:
    """One sampled answer."""

    text: str = ""
    reasoning: str = ""
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    finish: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class Reply:
    """The answers to one request, in the order of their seeds."""

    choices: list[Choice]
    prompt_tokens: int
    cached_tokens: int


class RefusedError(Exception):
    """llama.cpp did not answer a request."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", error)))
        self.error = error

    @property
    def too_long(self) -> bool:
        """Whether the prompt alone is longer than the context."""
        return self.error.get("type") == "exceed_context_size_error"


def read_reply(chunks: list[dict[str, Any]]) -> Reply:
    """Put the streamed chunks of one request together.

    Raises:
        RefusedError: The chunks hold an error, or end before every answer did.
    """
    choices: dict[int, Choice] = {}
    timings: dict[str, Any] = {}
    for chunk in chunks:
        if "error" in chunk:
            raise RefusedError(chunk["error"])
        for part in chunk["choices"]:
            choice = choices.setdefault(part["index"], Choice())
            _extend(choice, part)
            if choice.finish:
                timings = chunk["timings"]
                choice.tokens = timings["predicted_n"]
    if not choices or not all(choice.finish for choice in choices.values()):
        raise RefusedError({"message": "the answer ended early"})
    return Reply(
        choices=[choices[index] for index in sorted(choices)],
        prompt_tokens=timings["prompt_n"],
        cached_tokens=timings["cache_n"],
    )


def _extend(choice: Choice, part: dict[str, Any]) -> None:
    delta = part["delta"]
    choice.text += delta.get("content") or ""
    choice.reasoning += delta.get("reasoning_content") or ""
    choice.logprobs += (part.get("logprobs") or {}).get("content") or []
    choice.finish = part["finish_reason"] or ""
