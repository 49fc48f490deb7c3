"""A conversation as it arrived on the wire, whatever the protocol."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.support.openai_server import Reply


@dataclass(frozen=True)
class Conversation:
    """One request in the terms that all protocols share."""

    messages: Sequence[tuple[str, str]]
    """Role and text, in order: system, user or assistant."""
    body: Mapping[str, Any]
    system: str = ""
    """The system prompt, where the protocol keeps it apart."""
    choices: int = 1
    seed: int | None = None
    stop: Sequence[str] = ()
    logprobs: bool = False
    continues: bool = False
    """The protocol continues the trailing assistant message."""

    @property
    def text(self) -> str:
        """All texts, joined by line breaks."""
        return "\n".join([self.system, *(text for _, text in self.messages)])

    @property
    def last(self) -> tuple[str, str]:
        """The role and the text of the last message."""
        return self.messages[-1]


Script: TypeAlias = Callable[[Conversation, int], Reply]
"""Returns the reply of a scripted model; the number counts the requests with the same messages."""


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or parts with a text."""
    if isinstance(content, str) or content is None:
        return content or ""
    if isinstance(content, dict):
        return str(content.get("text", ""))
    return "".join(text_of(part) for part in content if isinstance(part, dict | str))  # type: ignore


def cut_at(reply: Reply, stops: Sequence[str]) -> Reply:
    """Return a reply that ends before the first stop sequence."""
    text = reply.text or ""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return Reply(text[: min(places)], "stop", reply.chances) if places else reply
