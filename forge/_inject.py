"""Injecting an error into a worked solution: ask, check, complain, ask again."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from inspect_ai.model import (
    CachePolicy,
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
from inspect_ai.util import LimitExceededError, json_schema

from misstep.forge._checks import AUTOMATIC, Check, Failure, check_example
from misstep.forge._compared import compared_aside
from misstep.forge._prompts import complaint_text, request_text, review_text, system_text
from misstep.forge._record import LATE_FRACTION, Example
from misstep.forge._reply import InjectionReply, ReviewReply, UnreadableReplyError, read_reply
from misstep.forge._result import Reject, Result
from misstep.forge._turns import take_turn
from misstep.registry import MisstepError, injection_prompts
from misstep.verdicts import NO_ERROR

RESULTS: dict[str, Result] = {}
"""What came of a sample, for its scorer, by the sample's uuid. Not in its store: that would write
every step into the log once more."""

_CUT_OFF = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
_HOPELESS = (401, 403, 404)
"""Answers to calls that no other sample would fare better with: a wrong key, no such model."""


@solver
def inject(
    max_attempts: int = 3,
    temperature: float = 0.7,
    max_tokens: int = 8192,
    seed: int = 42,
    late_fraction: float = LATE_FRACTION,
    reviewed: bool = False,
) -> Solver:
    """Inject an error by the model role `injector`; leave untouched what is to stay so.

    Args:
        max_attempts: How often the injector is asked, each time with what was wrong before.
        temperature: Of the injector.
        max_tokens: Of a reply.
        seed: Of the first attempt; the next take the numbers after it.
        late_fraction: The part, from the end, in which the error must be.
        reviewed: Have the model role `reviewer` confirm the error.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.metadata["inject"]:
            injector = get_model(role="injector", required=True)
            reviewer = get_model(role="reviewer", required=True) if reviewed else None
            configure = partial(_config, temperature, max_tokens)
            asking = _Asking(state, injector, reviewer, configure, seed, late_fraction)
            result = await asking.injected(max_attempts)
        else:
            result = Result(example=_untouched(state, late_fraction).row())
        RESULTS[state.uuid] = result
        return state

    return solve


def _untouched(state: TaskState, late_fraction: float) -> Example:
    steps, answer = state.metadata["steps"], state.metadata["answer"]
    return _example(state, steps, NO_ERROR, late_fraction, final_answer=answer, generator=None)


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
        checks=[check.value for check in AUTOMATIC],
        **more,
    )


@cache
def _config(temperature: float, max_tokens: int, seed: int, reply: type) -> GenerateConfig:
    schema = ResponseSchema(name=reply.__name__, json_schema=json_schema(reply))
    return GenerateConfig(
        temperature=temperature, max_tokens=max_tokens, seed=seed, response_schema=schema
    )


class _Asking:
    """The conversation about one sample."""

    def __init__(
        self,
        state: TaskState,
        injector: Model,
        reviewer: Model | None,
        configure: Callable[[int, type], GenerateConfig],
        seed: int,
        late_fraction: float,
    ) -> None:
        self._state = state
        self._injector = injector
        self._reviewer = reviewer
        self._configure = configure
        self._seed = seed
        self._late = late_fraction
        self._result = Result()

    async def injected(self, max_attempts: int) -> Result:
        """Ask until an example passes, or as often as is allowed."""
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=system_text(self._state)),
            ChatMessageUser(content=request_text(self._state, self._late)),
        ]
        result = self._result
        for attempt in range(max_attempts):
            result.attempts = attempt + 1
            output = await self._ask(self._injector, messages, InjectionReply, attempt)
            if isinstance(output, Reject):
                # Nothing came back, so there is nothing to complain of: the same call again.
                result.rejects = [output]
                continue
            example = await self._accepted(output, attempt)
            if example is not None:
                result.example, result.rejects = example.row(), []
                break
            if output.stop_reason == "content_filter":
                break
            messages += [
                ChatMessageAssistant(content=output.completion or "(empty)"),
                ChatMessageUser(content=complaint_text(result.rejects)),
            ]
        return result

    async def _accepted(self, output: ModelOutput, attempt: int) -> Example | None:
        """The example in a reply, if it passes; else the reasons are left in the result."""
        cut_off = _CUT_OFF.get(output.stop_reason)
        if cut_off:
            said = "the reply was cut off" if cut_off == "truncated" else "the model refused"
            self._result.rejects = [Reject("reply", cut_off, said)]
            return None
        try:
            reply = read_reply(output.completion, InjectionReply)
        except UnreadableReplyError as problem:
            self._result.rejects = [Reject("reply", problem.reason, problem.detail)]
            return None
        last = len(self._state.metadata["steps"]) - 1
        if not 0 <= reply.error_step <= last:
            said = f"step {reply.error_step} is not one of 0 to {last}"
            position = Check.ERROR_IN_LAST_QUARTER.value
            self._result.rejects = [Reject(position, "step_out_of_range", said)]
            return None
        allowed = self._state.metadata["error_types"]
        if reply.error_type not in allowed:
            said = (
                f"{reply.error_type!r} is none of those that were asked for: {', '.join(allowed)}"
            )
            kind = Check.LOGICAL_ERROR_TYPE.value
            self._result.rejects = [Reject(kind, "unknown_type", said)]
            return None
        example = self._read(reply)
        failures = check_example(example, await compared_aside(example))
        if not failures and self._reviewer is not None:
            failures = await self._review(self._reviewer, example, attempt)
            example.checks.append(Check.CONFIRMED.value)
        self._result.rejects = [Reject(x.check.value, x.reason, x.detail) for x in failures]
        return None if failures else example

    def _read(self, reply: InjectionReply) -> Example:
        """The steps before the error are the original's, whatever the reply says."""
        steps: list[str] = self._state.metadata["steps"]
        kept = steps[: reply.error_step]
        rewritten = [step.strip() for step in reply.rewritten_steps]
        return _example(
            self._state,
            [*kept, *rewritten],
            reply.error_step,
            self._late,
            generator=str(self._injector),
            error_type=reply.error_type,
            final_answer=reply.final_answer.strip().strip("$").strip(),
            rationale=reply.rationale,
            what_changed=reply.what_changed,
            why_incorrect=reply.why_incorrect,
            detection_difficulty=reply.detection_difficulty,
        )

    async def _review(self, reviewer: Model, example: Example, attempt: int) -> list[Failure]:
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=injection_prompts().review_system),
            ChatMessageUser(content=review_text(example)),
        ]
        output = await self._ask(reviewer, messages, ReviewReply, attempt)
        if isinstance(output, Reject):
            return [Failure(Check.CONFIRMED, output.reason, output.detail)]
        try:
            reply = read_reply(output.completion, ReviewReply)
        except UnreadableReplyError as problem:
            return [Failure(Check.CONFIRMED, f"reviewer_{problem.reason}", problem.detail)]
        if reply.confirmed and reply.first_wrong_step == example.label:
            return []
        detail = f"a reviewer finds the first flaw at step {reply.first_wrong_step}: {reply.reason}"
        return [Failure(Check.CONFIRMED, "not_confirmed", detail)]

    async def _ask(
        self, model: Model, messages: list[ChatMessage], schema: type, attempt: int
    ) -> ModelOutput | Reject:
        """One call. What was answered once, in this run or one before, is not asked again."""
        config = self._configure(self._seed + attempt, schema)
        policy = CachePolicy(expiry=None, scopes={"sample": str(self._state.sample_id)})
        try:
            output = await model.generate(messages, config=config, cache=policy)
        except (LimitExceededError, MisstepError):
            raise
        except Exception as problem:
            # Inspect has retried what can be; what is left is told, and never becomes an example.
            if getattr(problem, "status_code", None) in _HOPELESS:
                raise
            said = " ".join(str(problem).split())[:300]
            return Reject("call", type(problem).__name__, said)
        await take_turn()
        self._result.spent.add(output)
        self._state.output = output
        return output
