"""The solver of error recovery: the model continues reasoning that it is given."""

import json
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from inspect_ai.log import transcript
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span
from pydantic import JsonValue, ValidationError

from misstep.loaders import recovery_prompts
from misstep.providers import Refusal, collect, refusal_of, remembered_refusals, short_errors
from misstep.registry import (
    ANSWER,
    CHARACTERS_PER_TOKEN,
    PROBLEM,
    STEPS,
    ContinuationPrompts,
    Wording,
    fill,
    find_continuation,
)
from misstep.samples import RecoveryMetadata
from misstep.solvers._calls import reply_to
from misstep.solvers._conversations import (
    AnswerRole,
    Call,
    CallRefusedError,
    ContinuationOptions,
    FinishedConversation,
    Notice,
    NoticeFor,
    TurnChoice,
    TurnPlan,
    Until,
    plan_answer_role,
    plan_turn,
    variation_calls,
    variation_names,
)
from misstep.solvers._marking import find_grader
from misstep.stores import VARIATIONS, WRONG, RecoveryGrade, RecoveryRecord, Variation

REASONING_TOKENS = 200
"""The estimated length of reasoning. Models that reason at length write far more."""
ANSWER_TOKENS = 20
"""The estimated length of an answer."""


@solver
def continuation(
    prompts: str = "error_recovery",
    own_reasoning: bool = True,
    notice: Notice | None = None,
    notice_for: NoticeFor = "all",
    answer_role: AnswerRole = "auto",
    turn: TurnChoice = "auto",
    variations: str | Sequence[str] = VARIATIONS,
    marker: str | None = None,
    until: Until = "mistake",
    wording: Wording = "own",
) -> Solver:
    """Solve a problem without steps (NR), after correct ones (CR), and after a wrong one (IR).

    The question is the sample's input. `metadata` has its `task`, its `correct_steps` and its
    `incorrect_step`. Each variation is a span of the transcript. The sample's own messages are
    those of IR. If the run has a model role `grader`, it judges the replies to a wrong step.

    Args:
        prompts: The prompts: a name in `registry/continuations.yaml`.
        own_reasoning: Give the steps as the model's own. Otherwise give them as the user's.
        notice: Say that there might be a mistake: `immediate`, right after the given steps, or
            `end`, after the model's own reasoning, which then continues once more.
        notice_for: Give the notice in `all` variations, or in `IR` only.
        answer_role: The role that asks for the final answer: `system`, as published, or `user`.
            `auto` is `system` where the provider accepts a late system message, else `user`.
        turn: How the model continues steps of its own. `auto` does what the provider can.
            `continued` continues the text, `new_turn` starts a message after it, `asked` starts a
            message after a request of the user.
        variations: The variations, with IR: also XC and XI (the user gives the steps), CRm and IRm
            (a marker follows them), IRp (all steps but the last).
        marker: The text after the steps in CRm and IRm. Default: Wait.
        until: The last step that is given with the mistake: mistake, or last (the last but one).
        wording: Whose prompts: own, or published (read from the authors' repository).
    """
    words = recovery_prompts(prompts, wording)
    names = variation_names(variations)
    options = ContinuationOptions(
        own_reasoning, notice, notice_for, answer_role, turn, names, marker, until
    )

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        refused = remembered_refusals(get_model().api)
        role = plan_answer_role(options.answer_role, state.model.api)
        if Refusal.LATE_SYSTEM in refused and options.answer_role == "auto":
            role = "user"
        planned = replace(plan_turn(options.turn, state.model.api), role=role)
        about = state.metadata_as(RecoveryMetadata)

        async def converse(variation: Variation) -> FinishedConversation:
            plan = planned
            if Refusal.TRAILING_MESSAGE in refused and not planned.forced:
                plan = TurnPlan("asked", role=role)
            calls = variation_calls(words, state.input_text, about, variation, options, plan)
            async with span(variation, type="variation"):
                finished = await _make_calls(state, generate, calls)
                record = finished.record
                details: dict[str, JsonValue] = {
                    "variation": variation,
                    "turn": record.turn,
                    "answer_role": record.answer_role,
                }
                transcript().info(details | ({"marker": record.marker} if record.marker else {}))
                if grader is not None and variation in WRONG:
                    record.grade = await _grade(grader, words, state, finished)
            return finished

        grader = find_grader()
        finished = await collect(*(converse(variation) for variation in options.variations))
        conversations = dict(zip(options.variations, finished, strict=True))
        left = state.store_as(RecoveryRecord)
        left.variations = {name: one.record for name, one in conversations.items()}
        left.grader = None if grader is None else str(grader)
        state.messages, state.output = conversations["IR"].messages, conversations["IR"].output
        return state

    return solve


_OBJECT = re.compile(r"\{[^{}]{1,500}\}")


async def _grade(
    grader: Model, words: ContinuationPrompts, state: TaskState, finished: FinishedConversation
) -> RecoveryGrade | None:
    """Ask the grader about a conversation. None: its reply has no JSON object with four values."""
    values = {
        PROBLEM: state.input_text,
        ANSWER: state.target.text,
        STEPS: finished.given,
        "{reply}": "\n\n".join(reply.strip() for reply in finished.replies),
    }
    with short_errors():
        output = await grader.generate(
            fill(words.grader, values), config=GenerateConfig(temperature=0.0)
        )
    return read_grade(output.completion)


def read_grade(reply: str) -> RecoveryGrade | None:
    """Return the four truth values of the last JSON object in a reply, or None."""
    found = _OBJECT.findall(reply)
    try:
        return RecoveryGrade.model_validate(json.loads(found[-1]), strict=True) if found else None
    except (ValueError, ValidationError):
        return None


async def _make_calls(
    state: TaskState, generate: Generate, calls: Generator[Call, ModelOutput, FinishedConversation]
) -> FinishedConversation:
    """Make the calls of a conversation, one after another."""
    call = next(calls)
    while True:
        try:
            output = await _reply(state, generate, call)
        except CallRefusedError as refusal:
            call = calls.throw(refusal)
            continue
        try:
            call = calls.send(output)
        except StopIteration as end:
            finished: FinishedConversation = end.value
            return finished


async def _reply(state: TaskState, generate: Generate, call: Call) -> ModelOutput:
    try:
        return await reply_to(
            state,
            generate,
            call.messages,
            {"extra_body": call.extra_body} if call.extra_body else {},
        )
    except Exception as error:
        if call.fallback is None or refusal_of(error) is not call.fallback:
            raise
        transcript().info(f"The provider refused a call, because {call.fallback}.")
        remembered_refusals(get_model().api).add(call.fallback)
        raise CallRefusedError from error


@dataclass(frozen=True)
class TokenUse:
    """The calls of a sample, and their tokens."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


def continuation_tokens(
    question: str,
    about: RecoveryMetadata,
    options: ContinuationOptions | None = None,
    prompts: str = "error_recovery",
    reasoning_tokens: int = REASONING_TOKENS,
    answer_tokens: int = ANSWER_TOKENS,
) -> TokenUse:
    """Estimate the calls and tokens of a sample without calling a model."""
    words, chosen = find_continuation(prompts), options or ContinuationOptions()
    reply = ModelOutput.from_content("none", "x" * CHARACTERS_PER_TOKEN * reasoning_tokens)
    calls = prompt = completion = 0
    for variation in chosen.variations:
        plan = TurnPlan("new_turn", forced=True)
        planned = variation_calls(words, question, about, variation, chosen, plan)
        rounds = 2 if chosen.notice_in(variation) == "end" else 1
        # The messages grow from call to call, so each call is measured when it is made.
        sizes = [_prompt_tokens(next(planned))]
        more = rounds if words.final is not None else rounds - 1
        sizes += [_prompt_tokens(planned.send(reply)) for _ in range(more)]
        calls, prompt = calls + len(sizes), prompt + sum(sizes)
        completion += rounds * reasoning_tokens
        completion += answer_tokens if words.final is not None else 0
    return TokenUse(calls, prompt, completion)


def _prompt_tokens(call: Call) -> int:
    return -(-sum(len(message.text) for message in call.messages) // CHARACTERS_PER_TOKEN)
