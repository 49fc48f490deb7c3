"""The policy of a search: it writes candidates for the next step, or whole solutions."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfigArgs,
    ModelOutput,
)
from inspect_ai.solver import Generate, TaskState

from misstep._inspect_private import active_generate_config
from misstep.boxes import box_spans, last_boxed
from misstep.providers import Refusal, refusal_of, short_errors
from misstep.registry import fill, find_policy_prompt, find_provider
from misstep.solvers._calls import draw_votes, without_echo

Continuation: TypeAlias = Literal["auto", "prefill", "prompt"]
CONTINUATIONS: tuple[Continuation, ...] = ("auto", "prefill", "prompt")

Payer: TypeAlias = Literal["policy", "reward"]
PAYERS: tuple[Payer, ...] = ("policy", "reward")

BLANK_LINE = "\n\n"


class Account:
    """Calls and tokens of the policy and of the reward model, and the time since the start."""

    def __init__(self, budget: int | None = None) -> None:
        self._budget = budget
        self._started = time.monotonic()
        self.calls: dict[Payer, int] = dict.fromkeys(PAYERS, 0)
        self.tokens: dict[Payer, int] = dict.fromkeys(PAYERS, 0)

    def add_call(self, payer: Payer, output: ModelOutput) -> None:
        """Count a call."""
        self.calls[payer] += 1
        self.tokens[payer] += output.usage.total_tokens if output.usage else 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self._budget is not None and sum(self.tokens.values()) >= self._budget

    def record(self) -> dict[str, Any]:
        """Return the totals for the log."""
        return {
            "calls": sum(self.calls.values()),
            "tokens": sum(self.tokens.values()),
            "seconds": round(time.monotonic() - self._started, 3),
            **{f"{payer}_calls": self.calls[payer] for payer in PAYERS},
            **{f"{payer}_tokens": self.tokens[payer] for payer in PAYERS},
        }

    def counting(self, generate: Generate) -> Generate:
        """Return Inspect's generate function, with its calls counted as the policy's."""

        async def counted(
            state: TaskState,
            tool_calls: Literal["loop", "single", "none"] = "loop",
            **kwargs: Unpack[GenerateConfigArgs],
        ) -> TaskState:
            with short_errors():
                answered = await generate(state, tool_calls, **kwargs)
            self.add_call("policy", answered.output)
            return answered

        return counted


@dataclass(frozen=True)
class StepCandidate:
    """A candidate for the next step, and how often the policy wrote it."""

    text: str
    count: int
    is_final: bool
    """The candidate ends by itself and holds exactly one answer."""
    ended: bool
    """The candidate ends by itself, not at a blank line or at the length limit."""


class Policy:
    """The model under test as a writer of solutions.

    With a prefill the steps so far are the assistant's own turn; otherwise the prompt quotes them.
    `refusals` is what the model has refused so far.
    """

    def __init__(
        self,
        state: TaskState,
        generate: Generate,
        continuation: Continuation,
        refusals: set[Hashable],
    ) -> None:
        self._state = state
        self._generate = generate
        self._continuation = continuation
        self._provider = find_provider(state.model.api)
        self._refusals = refusals
        self._drawn = 0

    async def next_steps(self, steps: Sequence[str], n: int) -> list[StepCandidate]:
        """Return different candidates for the next step, out of n choices.

        If the provider refuses a prefill, or gives only empty continuations, the step is asked for
        in a new turn, and so are all later ones.
        """
        prefilled = bool(steps) and self._prefills
        try:
            candidates = await self._candidates(steps, n)
        except Exception as error:
            if self._is_forced or refusal_of(error) is not Refusal.TRAILING_MESSAGE:
                raise
            return await self._ask_anew(steps, n, "the provider refused to continue its own turn")
        unfinished = prefilled and last_boxed(steps[-1]) is None
        if unfinished and not self._is_forced and not any(one.text for one in candidates):
            return await self._ask_anew(steps, n, "all continuations were empty")
        return candidates

    async def solutions(self, n: int) -> list[ChatCompletionChoice]:
        """Return n whole solutions."""
        return await self._choices(self._messages([]), n, {})

    @property
    def _is_forced(self) -> bool:
        return self._continuation == "prefill"

    @property
    def _prefills(self) -> bool:
        """Whether the policy continues its own turn: by choice, or as the provider can."""
        if self._continuation != "auto":
            return self._is_forced
        able = self._provider.continues or bool(self._provider.continue_with)
        return able and Refusal.TRAILING_MESSAGE not in self._refusals

    async def _ask_anew(self, steps: Sequence[str], n: int, reason: str) -> list[StepCandidate]:
        self._refusals.add(Refusal.TRAILING_MESSAGE)
        transcript().info(f"The next step is asked for in a new turn: {reason}.")
        return await self._candidates(steps, n)

    async def _candidates(self, steps: Sequence[str], n: int) -> list[StepCandidate]:
        config: GenerateConfigArgs = {}
        if self._provider.white_space_ends and active_generate_config().stop_seqs is None:
            config["stop_seqs"] = [BLANK_LINE]
        extra = dict(self._provider.stop_in_text_with)
        if steps and self._prefills and not self._provider.continues:
            extra |= self._provider.continue_with
        if extra:
            config["extra_body"] = extra
        given = BLANK_LINE.join(steps) if self._prefills else ""
        return distinct_candidates(await self._choices(self._messages(steps), n, config), given)

    async def _choices(
        self, messages: list[ChatMessage], n: int, config: GenerateConfigArgs
    ) -> list[ChatCompletionChoice]:
        # A retry of the same prompt uses new seeds, or it would return the same candidates.
        output = await draw_votes(
            self._state, self._generate, messages, n, first=self._drawn, config=config
        )
        self._drawn += n
        return output.choices

    def _messages(self, steps: Sequence[str]) -> list[ChatMessage]:
        prompt, problem = find_policy_prompt(), self._state.input_text
        system = ChatMessageSystem(content=prompt.system)
        first = ChatMessageUser(content=fill(prompt.first, {"{problem}": problem}))
        if not steps:
            return [system, first]
        so_far = BLANK_LINE.join(steps)
        if self._prefills:
            end = BLANK_LINE if self._provider.white_space_ends else ""
            return [system, first, ChatMessageAssistant(content=so_far + end)]
        asked = fill(prompt.next, {"{problem}": problem, "{steps}": so_far})
        return [system, ChatMessageUser(content=asked)]


def text_of(choice: ChatCompletionChoice) -> str:
    """Return the text of a choice, or nothing if it is the error text of a refused call."""
    refused = choice.stop_reason in ("model_length", "content_filter")
    return "" if refused else choice.message.text


def distinct_candidates(
    choices: Sequence[ChatCompletionChoice], given: str = ""
) -> list[StepCandidate]:
    """Return the different candidates among choices, in order.

    Some servers repeat the text that was `given` before they continue it; it is removed.
    """
    candidates: dict[str, StepCandidate] = {}
    for choice in choices:
        text = without_echo(text_of(choice), given)
        ended = choice.stop_reason == "stop" and not text.endswith(BLANK_LINE)
        # A server without stop sequences writes more than the one step that the prompt asks for.
        step = text.strip().split(BLANK_LINE)[0].strip()
        ended = ended and step == text.strip()
        known = candidates.get(step, StepCandidate(step, 0, False, True))
        is_final = known.is_final or (ended and len(box_spans(step)) == 1)
        candidates[step] = StepCandidate(step, known.count + 1, is_final, known.ended and ended)
    return list(candidates.values())
