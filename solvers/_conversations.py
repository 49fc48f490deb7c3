"""The conversations of error recovery: which messages each variation sends, in which order."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
)

from misstep.providers import Refusal
from misstep.registry import ContinuationPrompts, MisstepError, UnknownNameError, find_provider
from misstep.samples import RecoveryMetadata, ReplyRecord, Turn, Variation, VariationRecord
from misstep.solvers._calls import without_echo

Notice: TypeAlias = Literal["immediate", "end"]
NoticeFor: TypeAlias = Literal["all", "IR"]
AnswerRole: TypeAlias = Literal["auto", "system", "user"]
TurnChoice: TypeAlias = Literal["auto", "continued", "new_turn", "asked"]


@dataclass(frozen=True)
class ContinuationOptions:
    """The user's choices about the conversations."""

    own_reasoning: bool = True
    """The given reasoning is the model's own. Otherwise it is the user's."""
    notice: Notice | None = None
    notice_for: NoticeFor = "all"
    answer_role: AnswerRole = "auto"
    turn: TurnChoice = "auto"

    def __post_init__(self) -> None:
        for name, kind in (
            ("notice", Notice),
            ("notice_for", NoticeFor),
            ("answer_role", AnswerRole),
            ("turn", TurnChoice),
        ):
            value, known = getattr(self, name), get_args(kind)
            if value not in known and not (name == "notice" and value is None):
                raise UnknownNameError(name, value, known)

    def notice_in(self, variation: Variation) -> Notice | None:
        """Return when a variation gets the notice. NR has no reasoning for an immediate notice."""
        if self.notice_for == "IR" and variation != "IR":
            return None
        return None if variation == "NR" and self.notice == "immediate" else self.notice


@dataclass(frozen=True)
class Call:
    """One call of the model."""

    messages: list[ChatMessage]
    extra_body: dict[str, Any] = field(default_factory=dict)
    fallback: Refusal | None = None
    """The refusal after which the model is asked in another way."""


class CallRefusedError(Exception):
    """The provider refused a call that has a fallback."""


@dataclass(frozen=True)
class TurnPlan:
    """How the model continues given reasoning, and which role asks for the answer."""

    turn: Turn
    extra_body: dict[str, Any] = field(default_factory=dict)
    forced: bool = False
    role: AnswerRole = "system"


def plan_answer_role(wanted: AnswerRole, provider: str) -> AnswerRole:
    """Return the role that asks for the answer: by choice, or `system` as published.

    Some providers have no place for a late system message, so that the model would be asked
    nothing. There the user asks.
    """
    if wanted != "auto":
        return wanted
    return "system" if find_provider(provider).late_system else "user"


def plan_turn(wanted: TurnChoice, provider: str) -> TurnPlan:
    """Return how the model continues given reasoning: by choice, or as the provider can."""
    able = find_provider(provider)
    match wanted:
        case "auto":
            return TurnPlan("continued" if able.continues else "new_turn")
        case "continued":
            return TurnPlan(wanted, {} if able.continues else able.continue_with, forced=True)
        case "new_turn" if able.continues:
            if able.new_turn_with is None:
                raise MisstepError(
                    f"turn=new_turn: the provider {provider!r} continues a conversation that ends "
                    "with an assistant message. For a new message use -T turn=asked."
                )
            return TurnPlan(wanted, able.new_turn_with, forced=True)
        case _:
            return TurnPlan(wanted, forced=True)


def continue_reasoning(
    messages: list[ChatMessage], plan: TurnPlan, request: str
) -> Generator[Call, ModelOutput, tuple[Turn, ModelOutput]]:
    """Make the model continue the reasoning that ends `messages`; return how, and the output.

    If a trailing assistant message is refused, or if so planned, a request to go on is added.
    """
    if plan.turn != "asked":
        try:
            fallback = None if plan.forced else Refusal.TRAILING_MESSAGE
            output = yield Call(messages, plan.extra_body, fallback)
        except CallRefusedError:
            pass
        else:
            if without_echo(output.completion, messages[-1].text) != output.completion:
                return "continued", output  # the server repeated the given text, then continued it
            return plan.turn, output
    messages.append(ChatMessageUser(content=request))
    output = yield Call(messages)
    return "asked", output


@dataclass(frozen=True)
class FinishedConversation:
    """The record, the messages and the last output of a conversation."""

    record: VariationRecord
    messages: list[ChatMessage]
    output: ModelOutput


def given_reasoning(about: RecoveryMetadata, variation: Variation) -> str:
    """Return the steps that a variation gives, one on each line."""
    steps = [] if variation == "NR" else about.correct_steps
    return "\n".join([*steps, about.incorrect_step] if variation == "IR" else steps)


def variation_calls(
    prompts: ContinuationPrompts,
    question: str,
    about: RecoveryMetadata,
    variation: Variation,
    options: ContinuationOptions,
    plan: TurnPlan,
) -> Generator[Call, ModelOutput, FinishedConversation]:
    """Yield the calls of a variation; take in each output; return the conversation at the end."""
    given, notice = given_reasoning(about, variation), options.notice_in(variation)
    messages: list[ChatMessage] = [
        ChatMessageSystem(content=prompts.system),
        ChatMessageUser(content=question),
    ]
    if given:
        own = options.own_reasoning
        messages.append((ChatMessageAssistant if own else ChatMessageUser)(content=given))
    if notice == "immediate":
        messages.append(ChatMessageUser(content=prompts.notice))
    turn: Turn = "plain"
    if messages[-1].role == "assistant":
        turn, output = yield from continue_reasoning(messages, plan, prompts.proceed)
    else:
        output = yield Call(messages)
    reasoning = [ReplyRecord.from_output(output)]
    _add_reply(messages, output, given if turn == "continued" else "")
    if notice == "end":
        messages.append(ChatMessageUser(content=prompts.notice))
        output = yield Call(messages)
        reasoning.append(ReplyRecord.from_output(output))
        _add_reply(messages, output)
    asking = f"{prompts.final}\n\n{prompts.task(about.task).hint}"
    role = plan.role
    if role == "system":
        messages.append(ChatMessageSystem(content=asking))
        fallback = Refusal.LATE_SYSTEM if options.answer_role == "auto" else None
        try:
            output = yield Call(messages, fallback=fallback)
        except CallRefusedError:
            role = "user"
            messages.pop()
    if role == "user":
        messages.append(ChatMessageUser(content=asking))
        output = yield Call(messages)
    messages.append(output.message)
    record = VariationRecord(
        answer=output.completion,
        last=ReplyRecord.from_output(output),
        reasoning=reasoning,
        turn=turn,
        answer_role=role,
    )
    return FinishedConversation(record, messages, output)


def _add_reply(messages: list[ChatMessage], output: ModelOutput, given: str = "") -> None:
    """Add a reply to the conversation: to the given text that it continues, or as a message.

    An empty reply adds nothing, because providers refuse empty messages.
    """
    if given:
        messages[-1] = ChatMessageAssistant(content=given + without_echo(output.completion, given))
    elif output.completion.strip():
        messages.append(output.message)
