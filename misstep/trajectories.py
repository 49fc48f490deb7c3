"""Trajectories of agents as steps: chat messages with tool calls and results, as text for critics.

A step is one assistant message with its tool calls. All other messages are evidence: they are shown
in place and never judged. The text of a step begins with the evidence since the step before it, so
that a critic that reads steps in order sees what the agent saw.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage

StepKind = Literal["call", "text"]
"""Whether a step calls a tool."""

ERROR_KINDS = {"call": "tool call", "text": "text only"}
"""The kinds of a first wrong step, in words."""

NO_TEXT = "(the text of this step is not in the file)"
"""The text of a step whose label is known and whose messages are not."""

_NOT_SHOWN = "[{kind}: not shown]"


class ToolCall(BaseModel):
    """One call of a tool by the agent."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: str
    id: str | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


def _content(value: object) -> object:
    if isinstance(value, int | float):
        # A tool's result may be a bare number.
        return json.dumps(value)
    return "" if value is None else value


class _OpenAICall(BaseModel):
    """A tool call in the format of the OpenAI API; `function` may also be the bare name."""

    id: str | None = None
    function: Any = None
    name: str | None = None
    arguments: Any = None

    def call(self) -> ToolCall:
        about = self.function if isinstance(self.function, dict) else {}
        name = about.get("name") or self.name or self.function
        arguments = about.get("arguments", self.arguments)
        if not isinstance(name, str):
            raise ValueError("a tool call names no function")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        return ToolCall(name=name, arguments=arguments, id=self.id)


class _OpenAIMessage(BaseModel):
    """A message in the format of the OpenAI API."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str | list[Any] | dict[str, Any], BeforeValidator(_content)] = ""
    tool_calls: list[_OpenAICall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning_content: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a trajectory."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    """For a tool's result: the call that it answers."""
    name: str | None = None
    """For a tool's result: the tool. For an assistant message: the agent."""
    reasoning: str = ""
    media: int = 0
    """Images, audio and other parts without text, which no rendering shows."""
    id: str | None = None


def read_message(content: object) -> Message:
    """Return a message in the format of the OpenAI API; raise ValueError if it is not one."""
    raw = _OpenAIMessage.model_validate(content)
    text, reasoning, media = _joined(raw.content)
    role: Any = {"developer": "system", "function": "tool"}.get(raw.role, raw.role)
    return Message(
        role=role,
        text=text,
        calls=tuple(one.call() for one in raw.tool_calls or ()),
        call_id=raw.tool_call_id,
        name=raw.name,
        reasoning=raw.reasoning_content or reasoning,
        media=media,
    )


def from_inspect(message: "ChatMessage") -> Message:
    """Return a message of an Inspect log."""
    content = message.content
    parts = content if isinstance(content, str) else [part.model_dump() for part in content]
    text, reasoning, media = _joined(parts)
    # The result of a failed tool call is empty, and `error` says what went wrong.
    if error := getattr(message, "error", None):
        text = "\n".join(filter(None, [f"[error: {error.message}]", text]))
    calls = getattr(message, "tool_calls", None) or ()
    return Message(
        role=message.role,
        text=text,
        calls=tuple(
            ToolCall(
                name=one.function,
                arguments=json.dumps(one.arguments, ensure_ascii=False),
                id=one.id,
            )
            for one in calls
        ),
        call_id=getattr(message, "tool_call_id", None),
        name=getattr(message, "function", None),
        reasoning=reasoning,
        media=media,
        id=message.id,
    )


def to_inspect(message: Message, place: int) -> "ChatMessage":
    """Return a message as one of Inspect, with its place in the id."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
    )
    from inspect_ai.tool import ToolCall as InspectToolCall

    id = f"m{place}"
    if message.role == "tool":
        return ChatMessageTool(
            content=message.text, tool_call_id=message.call_id, function=message.name, id=id
        )
    if message.role != "assistant":
        make = ChatMessageSystem if message.role == "system" else ChatMessageUser
        return make(content=message.text, id=id)
    calls = [
        InspectToolCall(
            id=call.id or f"{id}-{i}", function=call.name, arguments=_arguments(call.arguments)
        )
        for i, call in enumerate(message.calls)
    ]
    return ChatMessageAssistant(content=message.text, tool_calls=calls or None, id=id)


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"arguments": text}


def _joined(content: str | list[Any] | dict[str, Any]) -> tuple[str, str, int]:
    """Return the text of a message's content, its reasoning, and the number of other parts."""
    if isinstance(content, str):
        return content, "", 0
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False), "", 0
    texts, reasoning, media = [], [], 0
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            texts.append(part)
        elif kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "reasoning":
            reasoning.append(str(part.get("reasoning") or part.get("summary") or ""))
        else:
            media += 1
            texts.append(_NOT_SHOWN.format(kind=str(kind or "a part of unknown type")[:40]))
    return "\n".join(texts), "\n".join(reasoning), media


@dataclass(frozen=True)
class Rendering:
    """A trajectory as steps of text."""

    steps: list[str]
    """The text of each step: the evidence before it, then the assistant's message."""
    message_index: list[int]
    """The place of each step among the messages."""
    kinds: list[StepKind]
    shortened: int = 0
    """Characters that were cut out of tool results."""
    media: int = 0
    """Parts without text that are not shown."""


@dataclass
class _Parts:
    """What is rendered so far."""

    evidence: list[str] = field(default_factory=list)
    calls: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The place of each call among the calls of its message, and their number."""
    shortened: int = 0


def render(
    messages: Sequence[Message], tool_result_chars: int | None = None, reasoning: bool = False
) -> Rendering:
    """Return the steps of a trajectory as text.

    Args:
        messages: The messages in order.
        tool_result_chars: Cut the middle out of longer tool results, with a mark that says how many
            characters are missing. Other messages are never cut.
        reasoning: Show the reasoning of the agent too, if the messages have it.
    """
    done = _Parts()
    steps: list[str] = []
    places: list[int] = []
    kinds: list[StepKind] = []
    for index, message in enumerate(messages):
        if message.role != "assistant":
            done.evidence.append(_evidence(message, done, tool_result_chars))
            continue
        body = _step_body(message, reasoning)
        head = f"[step {len(steps)}] {message.name or 'assistant'}"
        steps.append("\n\n".join([*done.evidence, f"{head}\n{body}"]))
        done.evidence.clear()
        done.calls = {
            call.id: (place, len(message.calls))
            for place, call in enumerate(message.calls, start=1)
            if call.id is not None
        }
        places.append(index)
        kinds.append("call" if message.calls else "text")
    if steps and done.evidence:
        steps[-1] = "\n\n".join([steps[-1], *done.evidence])
    media = sum(message.media for message in messages)
    return Rendering(steps, places, kinds, done.shortened, media)


def _evidence(message: Message, done: _Parts, longest: int | None) -> str:
    if message.role != "tool":
        # In some environments the user calls tools too, and their results follow.
        lines = [message.text] if message.text or not message.calls else []
        return "\n".join([f"[{message.role}]", *lines, *map(str, message.calls)])
    text, cut = message.text, 0
    if longest is not None:
        text, cut = shorten(text, longest)
        done.shortened += cut
    place, of = done.calls.get(message.call_id or "", (1, 1))
    which = f", call {place} of {of}" if of > 1 else ""
    return f"[tool {message.name or 'result'}{which}]\n{text}"


def _step_body(message: Message, reasoning: bool) -> str:
    lines = [f"(reasoning) {message.reasoning}"] if reasoning and message.reasoning else []
    lines += [message.text] if message.text else []
    lines += map(str, message.calls)
    return "\n".join(lines) or "(empty message)"


def shorten(text: str, longest: int) -> tuple[str, int]:
    """Return a text with its middle cut out if it is too long, and how many characters are cut."""
    if len(text) <= longest:
        return text, 0
    cut = len(text) - longest
    head = longest - longest // 2
    return f"{text[:head]} [… {cut:,} characters cut …] {text[len(text) - longest // 2 :]}", cut
