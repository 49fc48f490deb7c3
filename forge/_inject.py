"""The solver that injects an error: ask the injector, check its reply, and ask again on failure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import anyio
from anyio.lowlevel import RunVar, checkpoint
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, StoreModel, json_schema

from misstep.forge._calls import (
    InjectionReply,
    ReviewReply,
    ask_once,
    complaint_text,
    read_reply,
    request_text,
    review_text,
    system_text,
)
from misstep.forge._checks import (
    AUTOMATIC_CHECKS,
    UNTOUCHED_CHECKS,
    Check,
    Failure,
    check_example,
    compare_final_answer_async,
)
from misstep.forge._example import LATE_FRACTION, Example, SolutionToInject
from misstep.providers import collect
from misstep.registry import MisstepError, injection_prompts
from misstep.verdicts import NO_ERROR

_FAILED_STOPS = {
    "max_tokens": ("truncated", "the reply was cut off"),
    "model_length": ("truncated", "the reply was cut off"),
    "content_filter": ("refused", "the model refused"),
}
_FATAL_STATUS = (401, 403, 404)
"""HTTP errors that every sample would get: a wrong key or an unknown model. They end the run."""


@dataclass
class CallUsage:
    """The answered calls of a sample, in this run or an earlier one."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def add(self, output: ModelOutput) -> None:
        """Count an answer."""
        self.calls += 1
        if output.usage is None:
            return
        usage = output.usage
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        self.input_tokens += usage.input_tokens + cached
        self.output_tokens += usage.output_tokens
        if usage.total_cost is not None:
            self.cost = (self.cost or 0.0) + usage.total_cost


@dataclass
class InjectionResult:
    """The result of a sample: an accepted example, or the reasons of the rejection."""

    example: dict[str, Any] | None = None
    """The accepted example."""
    rejects: list[Failure] = field(default_factory=list)
    """The failures of the last attempt, if no example was accepted."""
    attempts: int = 0
    spent: CallUsage = field(default_factory=CallUsage)


class InjectionRecord(StoreModel):
    """What the solver leaves for the scorer."""

    result: InjectionResult | None = None


_MAJORITY = 0.5
"""More than this share of votes decides."""
_ORIGINAL_CALLS = -1
"""The number of the review of the original, before the first attempt."""


def _record_original(example: Example, review: "_Review | None") -> None:
    if review:
        example.original_votes = review.votes
        example.checks.append(f"{Check.ORIGINAL_CONFIRMED}: {review.result(NO_ERROR)}")


FROM_SAMPLE = ("problem", "original_steps")
"""Fields of an example that the sample has already. The log keeps them once."""


@solver
def inject(
    max_attempts: int = 3,
    temperature: float = 0.7,
    max_tokens: int = 8192,
    seed: int = 42,
    late_fraction: float = LATE_FRACTION,
    votes: int = 3,
) -> Solver:
    """Inject an error with the model role `injector`. Samples with `inject` false stay untouched.

    Each attempt names the failures of the one before, and adds 1 to the seed. With votes, the model
    role `reviewer` judges the original before, and the modified solution after the injection.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        injection = _Injection(
            state,
            get_model(role="reviewer", required=True) if votes else None,
            partial(_config, temperature, max_tokens, seed),
            late_fraction,
            votes,
        )
        state.store_as(InjectionRecord).result = await injection.run(max_attempts)
        return state

    return solve


def _kept(example: Example) -> dict[str, Any]:
    """Return an example for the log, without the fields that the sample has already."""
    return {name: value for name, value in example.row().items() if name not in FROM_SAMPLE}


def _example(
    state: TaskState,
    steps: Sequence[str],
    label: int,
    late_fraction: float,
    **more: Any,  # noqa: ANN401
) -> Example:
    about = state.metadata_as(SolutionToInject)
    return Example(
        id=str(state.sample_id),
        problem=state.input_text,
        steps=list(steps),
        label=label,
        subset=about.source,
        original_steps=about.steps,
        answer=about.answer,
        late_fraction=late_fraction,
        final_answer_correct=label == NO_ERROR,
        **more,
    )


@cache
def _config(
    temperature: float, max_tokens: int, seed: int, attempt: int, reply: type
) -> GenerateConfig:
    schema = ResponseSchema(name=reply.__name__, json_schema=json_schema(reply))
    return GenerateConfig(
        temperature=temperature, max_tokens=max_tokens, seed=seed + attempt, response_schema=schema
    )


@dataclass(frozen=True)
class _Review:
    """The votes of the reviewers on a solution."""

    votes: list[int | None]
    """The first wrong step that each reviewer named. None if the reply could not be read."""
    follow: list[bool]
    """Whether the later steps follow, for each vote that could be read."""
    reasons: list[str]

    def share(self, verdict: int) -> float:
        """Return the share of votes for a verdict. Votes that could not be read count as others."""
        return self.votes.count(verdict) / len(self.votes)

    def result(self, verdict: int) -> str:
        """Return the result for the record of an example."""
        return f"{self.votes.count(verdict)} of {len(self.votes)} votes"


@dataclass
class _Injection:
    """The conversation about one sample, and its result so far."""

    state: TaskState
    reviewer: Model | None
    configure: Callable[[int, type], GenerateConfig]
    late_fraction: float
    votes: int
    result: InjectionResult = field(default_factory=InjectionResult)

    @property
    def about(self) -> SolutionToInject:
        """The solution, and the error that it is to get."""
        return self.state.metadata_as(SolutionToInject)

    async def run(self, max_attempts: int) -> InjectionResult:
        """Return an accepted example, or the failures of the last attempt."""
        original: _Review | None = None
        if self.reviewer is not None:
            review = await self._review(self.reviewer, self.about.steps, _ORIGINAL_CALLS)
            if isinstance(review, Failure):
                self.result.rejects = [review]
                return self.result
            original = review
            if original.share(NO_ERROR) <= _MAJORITY:
                detail = f"reviewers find an error in the original: {'; '.join(original.reasons)}"
                self.result.rejects = [Failure(Check.ORIGINAL_CONFIRMED, "error_found", detail)]
                return self.result
        if self.about.inject:
            await self._inject(max_attempts, original)
        else:
            self._leave_untouched(original)
        return self.result

    def _leave_untouched(self, original: _Review | None) -> None:
        """Accept the solution as an example without an error."""
        steps, answer = self.about.steps, self.about.answer
        example = _example(
            self.state, steps, NO_ERROR, self.late_fraction, final_answer=answer, generator=None
        )
        self.result.rejects = check_example(example, None)
        if not self.result.rejects:
            example.checks = [f"{check}: passed" for check in UNTOUCHED_CHECKS]
            _record_original(example, original)
            if original:
                example.review_votes = original.votes
                example.review_share = original.share(NO_ERROR)
            self.result.example = _kept(example)

    async def _inject(self, max_attempts: int, original: _Review | None) -> None:
        injector = get_model(role="injector", required=True)
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=system_text(self.state)),
            ChatMessageUser(content=request_text(self.state)),
        ]
        result = self.result
        for attempt in range(max_attempts):
            result.attempts = attempt + 1
            output = await self._ask(injector, messages, InjectionReply, attempt)
            if isinstance(output, Failure):
                # There is no reply to complain about, so the same messages are sent again.
                result.rejects = [output]
                continue
            read = self._read(output, injector)
            if isinstance(read, Failure):
                result.rejects = [read]
            else:
                _record_original(read, original)
                result.rejects = await self._check(read, attempt)
                if not result.rejects:
                    result.example = _kept(read)
                    break
            if output.stop_reason == "content_filter":
                break
            messages += [
                ChatMessageAssistant(content=output.completion or "(empty)"),
                ChatMessageUser(content=complaint_text(result.rejects)),
            ]

    def _read(self, output: ModelOutput, injector: Model) -> Example | Failure:
        """Return the example in a reply. The steps before the error are the original ones."""
        if output.stop_reason in _FAILED_STOPS:
            return Failure("reply", *_FAILED_STOPS[output.stop_reason])
        reply = read_reply(output.completion, InjectionReply)
        if isinstance(reply, Failure):
            return reply
        steps = self.about.steps
        if not 0 <= reply.error_step < len(steps):
            detail = f"step {reply.error_step} is not one of 0 to {len(steps) - 1}"
            return Failure(Check.ERROR_IN_LAST_QUARTER, "step_out_of_range", detail)
        target = self.about.target
        if reply.error_step != target:
            detail = f"step {reply.error_step} was changed; step {target} was asked for"
            return Failure(Check.DECLARED_STEP, "other_step", detail)
        allowed = self.about.error_types
        if reply.error_type not in allowed:
            names = ", ".join(allowed)
            detail = f"{reply.error_type!r} is none of those that were asked for: {names}"
            return Failure(Check.LOGICAL_ERROR_TYPE, "unknown_type", detail)
        return _example(
            self.state,
            [*steps[: reply.error_step], *(step.strip() for step in reply.rewritten_steps)],
            reply.error_step,
            self.late_fraction,
            generator=str(injector),
            error_type=reply.error_type,
            final_answer=reply.final_answer.strip().strip("$").strip(),
            rationale=reply.rationale,
            what_changed=reply.what_changed,
            why_incorrect=reply.why_incorrect,
            detection_difficulty=reply.detection_difficulty,
        )

    async def _check(self, example: Example, attempt: int) -> list[Failure]:
        """Return the failures of the automatic checks and of the review, if there is one."""
        failures = check_example(example, await compare_final_answer_async(example))
        if failures:
            return failures
        example.checks += [f"{check}: passed" for check in AUTOMATIC_CHECKS]
        if self.reviewer is None:
            return []
        review = await self._review(self.reviewer, example.steps, attempt)
        if isinstance(review, Failure):
            return [review]
        example.review_votes = review.votes
        example.review_share = review.share(example.label)
        named = ", ".join("unread" if vote is None else str(vote) for vote in review.votes)
        detail = f"blind reviewers name the steps {named}: {'; '.join(review.reasons)}"
        if review.share(example.label) <= _MAJORITY:
            return [Failure(Check.CONFIRMED, "not_confirmed", detail)]
        if review.follow.count(True) <= _MAJORITY * len(review.votes):
            return [Failure(Check.CONFIRMED, "later_steps_do_not_follow", detail)]
        example.checks.append(f"{Check.CONFIRMED}: {review.result(example.label)}")
        return []

    async def _review(
        self, reviewer: Model, steps: Sequence[str], attempt: int
    ) -> _Review | Failure:
        """Ask all reviewers about a solution. A failed call is a failure, never a vote."""
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=injection_prompts().review_system),
            ChatMessageUser(content=review_text(self.state.input_text, steps)),
        ]
        numbers = range(attempt * self.votes, (attempt + 1) * self.votes)
        outputs = await collect(
            *(self._ask(reviewer, messages, ReviewReply, number) for number in numbers)
        )
        review = _Review([], [], [])
        for output in outputs:
            if isinstance(output, Failure):
                return output
            reply = read_reply(output.completion, ReviewReply)
            if isinstance(reply, Failure) or not NO_ERROR <= reply.first_wrong_step < len(steps):
                review.votes.append(None)
                continue
            review.votes.append(reply.first_wrong_step)
            review.follow.append(reply.later_steps_follow)
            if reply.first_wrong_step != NO_ERROR:
                review.reasons.append(f"step {reply.first_wrong_step}: {reply.reason[:300]}")
        return review

    async def _ask(
        self, model: Model, messages: list[ChatMessage], reply: type, attempt: int
    ) -> ModelOutput | Failure:
        """Make one call. A call that was answered once, also in an earlier run, is not repeated."""
        config = self.configure(attempt, reply)
        try:
            output = await ask_once(model, messages, config, str(self.state.sample_id))
        except (LimitExceededError, MisstepError):
            raise
        except Exception as problem:
            # Inspect has made its retries. The failure is recorded and never becomes an example.
            if getattr(problem, "status_code", None) in _FATAL_STATUS:
                raise
            # Inspect's own text begins with the whole request: the provider's message comes first.
            message = getattr(problem, "provider_message", None) or str(problem)
            return Failure("call", type(problem).__name__, " ".join(message.split())[:300])
        await let_new_calls_start()
        self.result.spent.add(output)
        self.state.output = output
        return output


_answer_lock: RunVar[anyio.Lock | None] = RunVar("forge_answer_lock", None)


async def let_new_calls_start() -> None:
    """Process answers one at a time so that new calls are not delayed.

    Calls that start together are answered together. If all answers were processed at once, their
    connections would be idle during that time.
    """
    lock = _answer_lock.get()
    if lock is None:
        lock = anyio.Lock()
        _answer_lock.set(lock)
    async with lock:
        await checkpoint()
