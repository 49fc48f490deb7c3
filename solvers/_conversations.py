"""The conversations of error recovery: which messages each variation sends, in which order."""

import re
from collections.abc import Generator, Sequence
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
from misstep.samples import RecoveryMetadata
from misstep.solvers._calls import without_echo
from misstep.stores import (
    ALL_VARIATIONS,
    VARIATIONS,
    WRONG,
    ReplyRecord,
    Turn,
    Variation,
    VariationRecord,
)

Notice: TypeAlias = Literal["immediate", "end"]
NoticeFor: TypeAlias = Literal["all", "IR"]
AnswerRole: TypeAlias = Literal["auto", "system", "user"]
TurnChoice: TypeAlias = Literal["auto", "continued", "new_turn", "asked"]
Until: TypeAlias = Literal["mistake", "last"]

BY_USER: tuple[Variation, ...] = ("XC", "XI")
"""The variations whose steps the user gives."""
MARKED: tuple[Variation, ...] = ("CRm", "IRm")
"""The variations with a marker after the given steps."""
MARKER = "Wait"
"""The default marker."""

ACKNOWLEDGED = re.compile(
    r"\b(?:mistake|error|wrong|incorrect|correction|actually|let me re|that['’]s not|should be)",
    re.IGNORECASE,
)
"""Words that name a mistake. They are a lower bound: a model may correct itself without them."""
FIRST_WORDS = 400
"""The characters of a continuation in which these words are looked for."""


@dataclass(frozen=True)
class ContinuationOptions:
    """The user's choices about the conversations."""

    own_reasoning: bool = True
    """The given reasoning is the model's own. Otherwise it is the user's."""
    notice: Notice | None = None
    notice_for: NoticeFor = "all"
    answer_role: AnswerRole = "auto"
    turn: TurnChoice = "auto"
    variations: tuple[Variation, ...] = VARIATIONS
    marker: str | None = None
    """The text after the given steps in CRm and IRm. Default: MARKER."""
    until: Until = "mistake"
    """The last wrong step that is given: the mistake, or the last step but one."""

    def __post_init__(self) -> None:
        for name, kind in (
            ("notice", Notice),
            ("notice_for", NoticeFor),
            ("answer_role", AnswerRole),
            ("turn", TurnChoice),
            ("until", Until),
        ):
            value, known = getattr(self, name), get_args(kind)
            if value not in known and not (name == "notice" and value is None):
                raise UnknownNameError(name, value, known)
        if (problem := self._problem()) is not None:
            raise MisstepError(problem)

    def _problem(self) -> str | None:
        """Return why these choices do not fit together, or None."""
        marked = sorted(set(MARKED) & set(self.variations))
        shown = ",".join(self.variations)
        if "IR" not in self.variations:
            return f"variations={shown}: IR is missing. All others are compared with it: add it."
        if marked and self.notice == "immediate":
            return (
                f"notice=immediate: in {', '.join(marked)} the notice would stand between the "
                "marker and its continuation. Leave out one of them."
            )
        if self.marker is not None and not marked:
            return f"marker={self.marker}: variations={shown} have no marker. Add CRm or IRm."
        if self.marker is not None and not self.marker.strip():
            return "marker: it is empty. Give a word such as Wait, or leave out CRm and IRm."
        other = sorted({*BY_USER, *MARKED} & set(self.variations))
        if other and not self.own_reasoning:
            return (
                f"own_reasoning=false: all given steps are the user's then, so {', '.join(other)} "
                "would not differ or have no meaning. Leave out own_reasoning or these variations."
            )
        if self.until == "last" and "IRp" in self.variations:
            return "until=last: IR gives the steps of IRp then. Leave out until or IRp."
        return None

    def notice_in(self, variation: Variation) -> Notice | None:
        """Return when a variation gets the notice. NR has no reasoning for an immediate notice."""
        if self.notice_for == "IR" and variation not in WRONG:
            return None
        return None if variation == "NR" and self.notice == "immediate" else self.notice

    def marker_in(self, variation: Variation) -> str | None:
        """Return the marker of a variation, with the blank before it."""
        return f" {(self.marker or MARKER).strip()}" if variation in MARKED else None


def variation_names(given: str | Sequence[str]) -> tuple[Variation, ...]:
    """Return variations in their fixed order, from names such as `NR,CR,IR`."""
    names = given.split(",") if isinstance(given, str) else list(given)
    for name in names:
        if name not in ALL_VARIATIONS:
            raise UnknownNameError("variation", name, ALL_VARIATIONS)
    return tuple(name for name in ALL_VARIATIONS if name in names)


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


def refuse_marker(turn: str) -> MisstepError:
    """Return the error for a marker after which the model would begin a new message."""
    return MisstepError(
        f"marker: with this provider, the turn after the given steps is {turn!r}: the model begins "
        "a new message, and the marker would hang at the end of a finished one. Use a provider "
        "that continues text, such as vllm/…; or force it: -T turn=continued if the server can "
        f"continue, -T turn={turn} to send the marker all the same. Or leave out CRm and IRm: "
        "-T variations=NR,CR,IR"
    )


def continue_reasoning(
    messages: list[ChatMessage], plan: TurnPlan, request: str | None
) -> Generator[Call, ModelOutput, tuple[Turn, ModelOutput]]:
    """Make the model continue the reasoning that ends `messages`; return how, and the output.

    If a trailing assistant message is refused, or if so planned, a request to continue is added.
    Without a request, the reasoning ends with a marker, after which no message may follow.
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
    if request is None:
        raise refuse_marker("asked")
    messages.append(ChatMessageUser(content=request))
    output = yield Call(messages)
    return "asked", output


@dataclass(frozen=True)
class FinishedConversation:
    """The record, the messages and the last output of a conversation."""

    record: VariationRecord
    messages: list[ChatMessage]
    output: ModelOutput
    given: str = ""
    """The given steps, with the marker."""
    replies: list[str] = field(default_factory=list)
    """What the model wrote, without the given text."""


def given_reasoning(
    about: RecoveryMetadata, variation: Variation, until: Until = "mistake", between: str = "\n"
) -> str:
    """Return the steps that a variation gives, by default one on each line."""
    steps = [] if variation == "NR" else list(about.correct_steps)
    if variation in WRONG:
        steps.append(about.incorrect_step)
        if variation == "IRp" or until == "last":
            if about.following_steps is None:
                raise MisstepError(
                    f"{variation}: the sample's metadata has no `following_steps`: the steps after "
                    "the mistake."
                )
            steps += about.following_steps
    return between.join(steps)


def variation_calls(
    prompts: ContinuationPrompts,
    question: str,
    about: RecoveryMetadata,
    variation: Variation,
    options: ContinuationOptions,
    plan: TurnPlan,
) -> Generator[Call, ModelOutput, FinishedConversation]:
    """Yield the calls of a variation, receive each output, and return the finished conversation."""
    steps = given_reasoning(about, variation, options.until, prompts.between_steps)
    notice, marker = options.notice_in(variation), options.marker_in(variation) if steps else None
    given = steps + (marker or "")
    messages = _first_messages(prompts, question, given, variation, options)
    if notice == "immediate":
        messages.append(ChatMessageUser(content=prompts.notice))
    turn: Turn = "plain"
    if messages[-1].role == "assistant":
        if marker and plan.turn != "continued" and not plan.forced:
            raise refuse_marker(plan.turn)
        request = None if marker and not plan.forced else prompts.proceed
        turn, output = yield from continue_reasoning(messages, plan, request)
    else:
        output = yield Call(messages)
    reasoning = [ReplyRecord.from_output(output)]
    replies = [without_echo(output.completion, given)]
    _add_reply(messages, output, given if turn == "continued" else "")
    if notice == "end":
        messages.append(ChatMessageUser(content=prompts.notice))
        output = yield Call(messages)
        reasoning.append(ReplyRecord.from_output(output))
        replies.append(output.completion)
        _add_reply(messages, output)
    record = VariationRecord(
        answer=replies[-1],
        last=reasoning[-1],
        reasoning=reasoning[:-1],
        turn=turn,
        marker=marker,
        acknowledged=ACKNOWLEDGED.search(replies[0][:FIRST_WORDS]) is not None,
    )
    if prompts.final is None:
        return FinishedConversation(record, messages, output, given, replies)
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
    answered = {
        "answer": output.completion,
        "last": ReplyRecord.from_output(output),
        "reasoning": reasoning,
        "answer_role": role,
    }
    replies.append(output.completion)
    return FinishedConversation(
        record.model_copy(update=answered), messages, output, given, replies
    )


def _first_messages(
    prompts: ContinuationPrompts,
    question: str,
    given: str,
    variation: Variation,
    options: ContinuationOptions,
) -> list[ChatMessage]:
    """Return the messages up to the given steps."""
    messages: list[ChatMessage] = []
    if prompts.system is not None:
        messages.append(ChatMessageSystem(content=prompts.system))
    own = options.own_reasoning and variation not in BY_USER
    if given and not own and prompts.after_question is not None:
        return [*messages, ChatMessageUser(content=question + prompts.after_question + given)]
    messages.append(ChatMessageUser(content=question))
    if given:
        messages.append((ChatMessageAssistant if own else ChatMessageUser)(content=given))
    return messages


def _add_reply(messages: list[ChatMessage], output: ModelOutput, given: str = "") -> None:
    """Add a reply to the conversation: to the given text that it continues, or as a message.

    An empty reply adds nothing, because providers refuse empty messages.
    """
    if given:
        messages[-1] = ChatMessageAssistant(content=given + without_echo(output.completion, given))
    elif output.completion.strip():
        messages.append(output.message)
