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

from misstep.forge._answers import ask_once
from misstep.forge._checks import (
    AUTOMATIC_CHECKS,
    UNTOUCHED_CHECKS,
    Check,
    Failure,
    check_example,
    compare_final_answer_async,
)
from misstep.forge._example import LATE_FRACTION, Example
from misstep.forge._messages import (
    InjectionReply,
    ReviewReply,
    complaint_text,
    read_reply,
    request_text,
    review_text,
    system_text,
)
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


FROM_SAMPLE = ("problem", "original_steps")
"""Fields of an example that the sample has already. The log keeps them once."""


@solver
def inject(
    max_attempts: int = 3,
    temperature: float = 0.7,
    max_tokens: int = 8192,
    seed: int = 42,
    late_fraction: float = LATE_FRACTION,
    reviewed: bool = False,
) -> Solver:
    """Inject an error with the model role `injector`. Samples with `inject` false stay untouched.

    Each attempt names the failures of the one before, and adds 1 to the seed.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.metadata["inject"]:
            injection = _Injection(
                state,
                get_model(role="injector", required=True),
                get_model(role="reviewer", required=True) if reviewed else None,
                partial(_config, temperature, max_tokens, seed),
                late_fraction,
            )
            result = await injection.run(max_attempts)
        else:
            result = _untouched(state, late_fraction)
        state.store_as(InjectionRecord).result = result
        return state

    return solve


def _untouched(state: TaskState, late_fraction: float) -> InjectionResult:
    """Return the solution as an example without an error."""
    steps, answer = state.metadata["steps"], state.metadata["answer"]
    example = _example(state, steps, NO_ERROR, late_fraction, final_answer=answer, generator=None)
    failures = check_example(example, None)
    if failures:
        return InjectionResult(rejects=failures)
    example.checks = [check.value for check in UNTOUCHED_CHECKS]
    return InjectionResult(example=_kept(example))


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
    return Example(
        id=str(state.sample_id),
        problem=state.input_text,
        steps=list(steps),
        label=label,
        subset=state.metadata["source"],
        original_steps=state.metadata["steps"],
        answer=state.metadata["answer"],
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


@dataclass
class _Injection:
    """The conversation about one sample, and its result so far."""

    state: TaskState
    injector: Model
    reviewer: Model | None
    configure: Callable[[int, type], GenerateConfig]
    late_fraction: float
    result: InjectionResult = field(default_factory=InjectionResult)

    async def run(self, max_attempts: int) -> InjectionResult:
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=system_text(self.state)),
            ChatMessageUser(content=request_text(self.state, self.late_fraction)),
        ]
        result = self.result
        for attempt in range(max_attempts):
            result.attempts = attempt + 1
            output = await self._ask(self.injector, messages, InjectionReply, attempt)
            if isinstance(output, Failure):
                # There is no reply to complain about, so the same messages are sent again.
                result.rejects = [output]
                continue
            read = self._read(output)
            if isinstance(read, Failure):
                result.rejects = [read]
            else:
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
        return result

    def _read(self, output: ModelOutput) -> Example | Failure:
        """Return the example in a reply. The steps before the error are the original ones."""
        if output.stop_reason in _FAILED_STOPS:
            return Failure("reply", *_FAILED_STOPS[output.stop_reason])
        reply = read_reply(output.completion, InjectionReply)
        if isinstance(reply, Failure):
            return reply
        steps: list[str] = self.state.metadata["steps"]
        if not 0 <= reply.error_step < len(steps):
            detail = f"step {reply.error_step} is not one of 0 to {len(steps) - 1}"
            return Failure(Check.ERROR_IN_LAST_QUARTER, "step_out_of_range", detail)
        allowed = self.state.metadata["error_types"]
        if reply.error_type not in allowed:
            names = ", ".join(allowed)
            detail = f"{reply.error_type!r} is none of those that were asked for: {names}"
            return Failure(Check.LOGICAL_ERROR_TYPE, "unknown_type", detail)
        return _example(
            self.state,
            [*steps[: reply.error_step], *(step.strip() for step in reply.rewritten_steps)],
            reply.error_step,
            self.late_fraction,
            generator=str(self.injector),
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
        example.checks = [check.value for check in AUTOMATIC_CHECKS]
        if self.reviewer is not None:
            failures = await self._review(self.reviewer, example, attempt)
            example.checks += [] if failures else [Check.CONFIRMED.value]
        return failures

    async def _review(self, reviewer: Model, example: Example, attempt: int) -> list[Failure]:
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=injection_prompts().review_system),
            ChatMessageUser(content=review_text(example)),
        ]
        output = await self._ask(reviewer, messages, ReviewReply, attempt)
        if isinstance(output, Failure):
            return [Failure(Check.CONFIRMED, output.reason, output.detail)]
        reply = read_reply(output.completion, ReviewReply)
        if isinstance(reply, Failure):
            return [Failure(Check.CONFIRMED, f"reviewer_{reply.reason}", reply.detail)]
        if reply.confirmed and reply.first_wrong_step == example.label:
            return []
        detail = f"a reviewer finds the first flaw at step {reply.first_wrong_step}: {reply.reason}"
        return [Failure(Check.CONFIRMED, "not_confirmed", detail)]

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
            return Failure("call", type(problem).__name__, " ".join(str(problem).split())[:300])
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
