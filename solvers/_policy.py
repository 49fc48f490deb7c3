"""Asking a policy for candidates: the next step, or whole solutions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)
from inspect_ai.solver import Generate, TaskState

from misstep.boxes import box_spans
from misstep.registry import fill, find_policy_prompt, find_provider
from misstep.solvers._voting import draw_votes

Continuation: TypeAlias = Literal["auto", "prefill", "prompt"]
CONTINUATIONS: tuple[Continuation, ...] = ("auto", "prefill", "prompt")

BLANK_LINE = "\n\n"


@dataclass(frozen=True)
class Drawn:
    """A candidate for the next step, as often as it was drawn."""

    text: str
    count: int
    final: bool
    """It ended by itself and holds exactly one answer."""
    ended: bool
    """It ended by itself, and not at a blank line or for its length."""


class Policy:
    """The model under test, writing solutions.

    Args:
        state: The sample's state, left as it is.
        generate: Inspect's generate function.
        continuation: Whether the steps so far are the assistant's own turn or quoted in the prompt.
    """

    def __init__(self, state: TaskState, generate: Generate, continuation: Continuation) -> None:
        self._state = state
        self._generate = generate
        self._provider = find_provider(state.model.api)
        able = self._provider.continues or bool(self._provider.continue_with)
        self._prefills = continuation == "prefill" or (continuation == "auto" and able)
        self._drawn = 0

    async def next_steps(self, steps: Sequence[str], n: int) -> list[Drawn]:
        """Candidates for the step after some others: equal ones once, empty ones not at all."""
        return distinct(await self._choices(self._question(steps), n, bool(steps)))

    async def solutions(self, n: int) -> list[ChatCompletionChoice]:
        """Whole solutions."""
        return await self._choices(self._question([]), n, False)

    async def _choices(
        self, messages: list[ChatMessage], n: int, prefilled: bool
    ) -> list[ChatCompletionChoice]:
        extra = dict(self._provider.stop_in_text_with)
        if prefilled and self._prefills and not self._provider.continues:
            extra |= self._provider.continue_with
        # A retry of the same question counts its seeds on, or it would get the same candidates.
        output = await draw_votes(
            self._state, self._generate, messages, n, first=self._drawn, extra_body=extra or None
        )
        self._drawn += n
        return output.choices

    def _question(self, steps: Sequence[str]) -> list[ChatMessage]:
        prompt, problem = find_policy_prompt(), self._state.input_text
        system = ChatMessageSystem(content=prompt.system)
        first = ChatMessageUser(content=fill(prompt.first, {"{problem}": problem}))
        if not steps:
            return [system, first]
        so_far = BLANK_LINE.join(steps)
        if self._prefills:
            return [system, first, ChatMessageAssistant(content=so_far + BLANK_LINE)]
        asked = fill(prompt.next, {"{problem}": problem, "{steps}": so_far})
        return [system, ChatMessageUser(content=asked)]


def written(choice: ChatCompletionChoice) -> str:
    """What the policy wrote; nothing where it was refused, since its text is then an error."""
    refused = choice.stop_reason in ("model_length", "content_filter")
    return "" if refused else choice.message.text


def distinct(choices: Sequence[ChatCompletionChoice]) -> list[Drawn]:
    """The different candidates among some choices, in order."""
    found: dict[str, Drawn] = {}
    for choice in choices:
        text = written(choice)
        ended = choice.stop_reason == "stop" and not text.endswith(BLANK_LINE)
        # A prompt that asks for one step gets more from a server without stop sequences.
        step = text.strip().split(BLANK_LINE)[0].strip()
        ended = ended and step == text.strip()
        known = found.get(step, Drawn(step, 0, False, True))
        final = known.final or (ended and len(box_spans(step)) == 1)
        found[step] = Drawn(step, known.count + 1, final, known.ended and ended)
    return list(found.values())
