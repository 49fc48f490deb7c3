"""What comes after given reasoning: more of the same text, or a message of its own."""

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput

from misstep.registry import MisstepError, find_provider
from misstep.scorers import Turn

TurnChoice: TypeAlias = Literal["auto", "continued", "new_turn", "asked"]
TURNS: tuple[TurnChoice, ...] = ("auto", "continued", "new_turn", "asked")

_REFUSAL = re.compile(
    r"prefill|(?:end|finish) with an? (?:user|human) message"
    r"|(?:last|final) (?:message|role|turn)[^.]{0,40}\b(?:user|tool)\b|expected last role",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Call:
    """One call of the model."""

    messages: list[ChatMessage]
    extra_body: dict[str, Any] = field(default_factory=dict)
    fallback: bool = False
    """There is another way, should the provider refuse how the messages end."""


class TrailingMessageRefusedError(Exception):
    """The provider takes no conversation that ends with an assistant message."""


Calls: TypeAlias = Generator[Call, ModelOutput, tuple[Turn, ModelOutput]]


def is_refusal(problem: Exception) -> bool:
    """Whether a call failed since its messages end with the assistant's."""
    return _REFUSAL.search(str(problem)) is not None


@dataclass(frozen=True)
class TurnPlan:
    """How given reasoning is to be carried on."""

    turn: Turn
    extra_body: dict[str, Any] = field(default_factory=dict)
    forced: bool = False


def plan_turn(wanted: TurnChoice, provider: str) -> TurnPlan:
    """What the provider can do, or what was asked for.

    Args:
        wanted: The user's choice.
        provider: The provider's name, as Inspect has it.

    Raises:
        MisstepError: The provider cannot do what was asked for.
    """
    able = find_provider(provider)
    match wanted:
        case "auto":
            return TurnPlan("continued" if able.continues else "new_turn")
        case "continued":
            return TurnPlan(wanted, {} if able.continues else able.continue_with, forced=True)
        case "new_turn" if able.continues:
            if able.new_turn_with is None:
                raise MisstepError(
                    f"turn=new_turn: the provider {provider!r} carries on a conversation that ends "
                    "with an assistant message. For a message of its own: -T turn=asked."
                )
            return TurnPlan(wanted, able.new_turn_with, forced=True)
        case _:
            return TurnPlan(wanted, forced=True)


def carry_on(messages: list[ChatMessage], plan: TurnPlan, proceed: str) -> Calls:
    """Have the model go on after given reasoning, and tell how that was done.

    Args:
        messages: The conversation, which ends with the given reasoning; what is said to make the
            model go on is added to it.
        plan: How.
        proceed: What is said where a trailing assistant message is refused.
    """
    if plan.turn != "asked":
        try:
            output = yield Call(messages, plan.extra_body, fallback=not plan.forced)
        except TrailingMessageRefusedError:
            pass
        else:
            return plan.turn, output
    messages.append(ChatMessageUser(content=proceed))
    output = yield Call(messages)
    return "asked", output
