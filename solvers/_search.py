"""Search guided by rewards: each iteration keeps the best steps and continues from them.

The policy, which is the model under test, writes candidates for the next step, or whole solutions.
"""

import time
from collections.abc import Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeAlias, TypeVar, Unpack

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
from inspect_ai.util import span

from misstep._inspect_private import active_generate_config
from misstep.boxes import box_spans, last_boxed
from misstep.providers import Refusal, collect, refusal_of, short_errors
from misstep.registry import fill, find_policy_prompt, find_provider
from misstep.rewards import Aggregation, Reward, RewardModel, aggregate
from misstep.solvers._calls import draw_votes, without_echo
from misstep.stores import CandidateRecord, IterationRecord

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


def choice_text(choice: ChatCompletionChoice) -> str:
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
        text = without_echo(choice_text(choice), given)
        ended = choice.stop_reason == "stop" and not text.endswith(BLANK_LINE)
        # A server without stop sequences writes more than the one step that the prompt asks for.
        step = text.strip().split(BLANK_LINE)[0].strip()
        ended = ended and step == text.strip()
        known = candidates.get(step, StepCandidate(step, 0, False, True))
        is_final = known.is_final or (ended and len(box_spans(step)) == 1)
        candidates[step] = StepCandidate(step, known.count + 1, is_final, known.ended and ended)
    return list(candidates.values())


TRIES = 3
"""The maximum tries of one step. Without it, a search without rewards would never end."""

_LONGEST = 300
"""Characters of a candidate that the transcript shows. The store has the full text."""

T = TypeVar("T")


@dataclass(frozen=True)
class Path:
    """The steps of a path, with their rewards."""

    steps: tuple[str, ...] = ()
    rewards: tuple[float, ...] = ()
    is_final: bool = False

    @property
    def answer(self) -> str | None:
        r"""The content of the last step's `\boxed{}`."""
        return last_boxed(self.steps[-1]) if self.steps else None


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate for the next step of a path, with its reward."""

    path: Path
    candidate: StepCandidate
    reward: Reward

    @property
    def next_path(self) -> Path:
        """The path after this step."""
        value = -1.0 if self.reward.value is None else self.reward.value
        return Path(
            (*self.path.steps, self.candidate.text),
            (*self.path.rewards, value),
            self.candidate.is_final,
        )


@dataclass
class Search:
    """A beam search. With a width of 1 it is a greedy search."""

    policy: Policy
    rewards: RewardModel
    account: Account
    random: Random
    n: int
    """The number of candidates of an iteration, divided among the paths."""
    width: int = 1
    aggregation: Aggregation = "last"
    max_steps: int = 30
    """The most iterations, with those that add no step."""
    iterations: list[IterationRecord] = field(default_factory=list)

    async def run(self, problem: str) -> tuple[Path, str | None]:
        """Search for a solution: return the best path, and why it is unfinished if it is."""
        live, done = [Path()], list[Path]()
        why = f"it did not end within {self.max_steps} steps"
        tries = 0
        for number in range(1, self.max_steps + 1):
            if self.account.is_exhausted:
                why = "the token budget is used up"
                break
            async with span(f"step {number}", type="search"):
                kept, over = await self._iterate(problem, number, live, self.width - len(done))
            done += [path for path in [*kept, *over] if path.is_final or path in over]
            # If no candidate has a reward, the next iteration tries the same paths again.
            live = [path for path in kept if not path.is_final] or ([] if kept or over else live)
            if not live or len(done) >= self.width:
                break
            tries = 0 if kept else tries + 1
            if tries == TRIES:
                why = (
                    f"no candidate had a reward in {TRIES} tries; the last reason: {self._missing}"
                )
                break
        if done:
            return self._best(done), None
        best = self._best(live)
        return best, why + _repetition(best)

    async def _iterate(
        self, problem: str, number: int, live: Sequence[Path], places: int
    ) -> tuple[list[Path], list[Path]]:
        """Add one step: return the paths to continue, and those that the policy left unchanged."""
        share = max(1, self.n // len(live))
        async with span("candidates"):
            drawn = await _gather([self.policy.next_steps(path.steps, share) for path in live])
        over = [
            path
            for path, candidates in zip(live, drawn, strict=True)
            if path.answer and _adds_nothing(candidates)
        ]
        async with span("rewards"):
            scored = await _gather(
                [
                    self._score(problem, path, candidates)
                    for path, candidates in zip(live, drawn, strict=True)
                    if path not in over
                ]
            )
        options = [option for of_path in scored for option in of_path]
        chosen = self._choose(options, places - len(over))
        self._record(number, live, options, chosen, over)
        return [option.next_path for option in chosen], over

    async def _score(
        self, problem: str, path: Path, drawn: Sequence[StepCandidate]
    ) -> list[ScoredCandidate]:
        written = [candidate for candidate in drawn if candidate.text]
        rewards = await self.rewards.score_candidates(
            problem, path.steps, [candidate.text for candidate in written]
        )
        scored = [ScoredCandidate(path, c, r) for c, r in zip(written, rewards, strict=True)]
        no_reward = Reward(None, "the candidate is empty")
        return scored + [ScoredCandidate(path, c, no_reward) for c in drawn if not c.text]

    def _choose(self, options: Sequence[ScoredCandidate], places: int) -> list[ScoredCandidate]:
        """Return the best candidates that have a reward. The seed decides ties."""
        known = [option for option in options if option.reward.value is not None]
        self.random.shuffle(known)
        return sorted(known, key=lambda option: -self._value(option.next_path))[: max(0, places)]

    @property
    def _missing(self) -> str:
        """Why the first candidate of the last iteration has no reward."""
        candidates = self.iterations[-1].candidates
        return next((str(one.missing) for one in candidates), "there was no candidate")

    def _best(self, paths: Sequence[Path]) -> Path:
        return max(paths, key=self._value)

    def _value(self, path: Path) -> float:
        value = aggregate(path.rewards, self.aggregation)
        return -1.0 if value is None else value

    def _record(
        self,
        number: int,
        live: Sequence[Path],
        options: Sequence[ScoredCandidate],
        chosen: Sequence[ScoredCandidate],
        over: Sequence[Path],
    ) -> None:
        """Keep the record of an iteration, and write it to the transcript."""
        iteration = IterationRecord(
            iteration=number,
            paths=len(live),
            over=[live.index(path) for path in over],
            # The next iteration numbers paths in this order, without the final ones.
            kept=[options.index(option) for option in chosen],
            candidates=[
                CandidateRecord(
                    path=live.index(option.path),
                    step=option.candidate.text,
                    reward=option.reward.value,
                    missing=option.reward.missing,
                    final=option.candidate.is_final,
                    count=option.candidate.count,
                    chosen=option in chosen,
                )
                for option in options
            ],
        )
        self.iterations.append(iteration)
        transcript().info(iteration_table(iteration), source="search")


async def _gather(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at once. A single one runs without a group, which the log would show."""
    return [await work[0]] if len(work) == 1 else await collect(*work)


def _adds_nothing(candidates: Sequence[StepCandidate]) -> bool:
    """Return whether the policy ended every time without text: it has nothing to add."""
    return all(not candidate.text and candidate.ended for candidate in candidates)


def _repetition(path: Path) -> str:
    times = path.steps.count(path.steps[-1]) if path.steps else 0
    return f"; its last step occurs {times} times" if times > 1 else ""


def iteration_table(iteration: IterationRecord) -> str:
    """Return the candidates of an iteration with their rewards, as a table in Markdown."""
    several = iteration.paths > 1
    head = ["", *(["path"] if several else []), "reward", "candidate"]
    lines = [_row(head), _row(["---"] * len(head))]
    ordered = sorted(iteration.candidates, key=lambda c: 1.0 if c.reward is None else -c.reward)
    for candidate in ordered:
        mark = "**→**" if candidate.chosen else ""
        reward = "missing" if candidate.reward is None else f"{candidate.reward:.4f}"
        path = [str(candidate.path)] if several else []
        lines.append(_row([mark, *path, reward, _cell(candidate)]))
    if iteration.over:
        lines += ["", "The policy had nothing to add: the solution is complete."]
    elif not any(candidate.chosen for candidate in iteration.candidates):
        lines += ["", "No candidate has a reward: the step is tried again."]
    return "\n".join(lines)


def _cell(candidate: CandidateRecord) -> str:
    notes = []
    if candidate.final:
        notes.append("final")
    if candidate.count > 1:
        notes.append(f"drawn {candidate.count} times")
    if candidate.missing:
        notes.append(candidate.missing)
    text = candidate.step
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    noted = f" *({_plain('; '.join(notes))})*" if notes else ""
    return f"`{_plain(shown) or ' '}`{noted}"


def _plain(text: str) -> str:
    """Return text on one line, without characters that end a table cell or code."""
    return " ".join(text.replace("|", "¦").replace("`", "'").split())


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
