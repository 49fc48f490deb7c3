"""The conversations of the three variations: who says what, in which order."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
)

from misstep.registry import ContinuationPrompts, UnknownNameError
from misstep.scorers import Reply, Turn, Variation, VariationRecord
from misstep.solvers._turns import TURNS, Call, TurnChoice, TurnPlan, carry_on

Notice: TypeAlias = Literal["immediate", "end"]
NoticeFor: TypeAlias = Literal["all", "IR"]
AnswerRole: TypeAlias = Literal["system", "user"]


@dataclass(frozen=True)
class ContinuationOptions:
    """What the user chooses about the conversations."""

    own_reasoning: bool = True
    """The given reasoning is the model's own; otherwise the user's."""
    notice: Notice | None = None
    notice_for: NoticeFor = "all"
    answer_role: AnswerRole = "system"
    turn: TurnChoice = "auto"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("notice", (None, *get_args(Notice))),
            ("notice_for", get_args(NoticeFor)),
            ("answer_role", get_args(AnswerRole)),
            ("turn", TURNS),
        ):
            if getattr(self, name) not in allowed:
                known = [value for value in allowed if value is not None]
                raise UnknownNameError(name, getattr(self, name), known)

    def notice_in(self, variation: Variation) -> Notice | None:
        """When the variation is told of a mistake; without given reasoning never at once."""
        if self.notice_for == "IR" and variation != "IR":
            return None
        return None if variation == "NR" and self.notice == "immediate" else self.notice


@dataclass(frozen=True)
class Talk:
    """A conversation that has ended."""

    record: VariationRecord
    messages: list[ChatMessage]
    output: ModelOutput


Conversation: TypeAlias = Generator[Call, ModelOutput, Talk]


def given_reasoning(metadata: Mapping[str, Any], variation: Variation) -> str:
    """The steps that a variation gives, one a line; empty where it gives none."""
    steps: Sequence[str] = () if variation == "NR" else metadata["correct_steps"]
    return "\n".join([*steps, metadata["incorrect_step"]] if variation == "IR" else steps)


def conversation(
    prompts: ContinuationPrompts,
    question: str,
    metadata: Mapping[str, Any],
    variation: Variation,
    options: ContinuationOptions,
    plan: TurnPlan,
) -> Conversation:
    """Hold one conversation: give out calls, take in their outputs.

    Args:
        prompts: The words.
        question: The problem.
        metadata: The sample's: `task`, `correct_steps` and `incorrect_step`.
        variation: Which of the three.
        options: What the user chose.
        plan: How reasoning of the model's own is carried on.
    """
    given, notice = given_reasoning(metadata, variation), options.notice_in(variation)
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
        turn, output = yield from carry_on(messages, plan, prompts.proceed)
    else:
        output = yield Call(messages)
    reasoning = [Reply.of(output)]
    _add(messages, output, given if turn == "continued" else "")
    if notice == "end":
        messages.append(ChatMessageUser(content=prompts.notice))
        output = yield Call(messages)
        reasoning.append(Reply.of(output))
        _add(messages, output)
    asking = f"{prompts.final}\n\n{prompts.task(metadata['task']).hint}"
    as_system = options.answer_role == "system"
    messages.append((ChatMessageSystem if as_system else ChatMessageUser)(content=asking))
    output = yield Call(messages)
    messages.append(output.message)
    record = VariationRecord(
        answer=output.completion, last=Reply.of(output), reasoning=reasoning, turn=turn
    )
    return Talk(record, messages, output)


def _add(messages: list[ChatMessage], output: ModelOutput, given: str = "") -> None:
    """Add a reply to the conversation: to the given text that it continues, else by itself.

    An empty reply adds nothing: providers refuse empty messages.
    """
    if given:
        messages[-1] = ChatMessageAssistant(content=given + output.completion)
    elif output.completion.strip():
        messages.append(output.message)
