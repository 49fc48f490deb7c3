"""The solver that has a model carry on reasoning that it is given."""

from inspect_ai.log import transcript
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect, span

from misstep.registry import find_continuation
from misstep.scorers import VARIATIONS, Variation, keep_variations
from misstep.solvers._asking import reply_to
from misstep.solvers._conversations import (
    AnswerRole,
    ContinuationOptions,
    Conversation,
    Notice,
    NoticeFor,
    Talk,
    conversation,
)
from misstep.solvers._turns import (
    Call,
    TrailingMessageRefusedError,
    TurnChoice,
    TurnPlan,
    is_refusal,
    plan_turn,
)


@solver
def continuation(
    prompts: str = "error_recovery",
    own_reasoning: bool = True,
    notice: Notice | None = None,
    notice_for: NoticeFor = "all",
    answer_role: AnswerRole = "system",
    turn: TurnChoice = "auto",
) -> Solver:
    """Solve a problem from nothing, after correct steps, and after a wrong one, all at once.

    The question is the sample's input; `metadata` has its `task`, its `correct_steps` and its
    `incorrect_step`. Each variation is a span of the transcript; the sample's own messages are
    those of the one with the wrong step.

    Args:
        prompts: What is said: a name in `registry/continuations.yaml`.
        own_reasoning: Give the steps as the model's own; otherwise as the user's.
        notice: Say that there might be a mistake: `immediate`, right after the given steps, or
            `end`, after the model's own reasoning, which then continues once more.
        notice_for: Say so in `all` variations, or in `IR` only.
        answer_role: Who asks for the final answer: `system` or `user`.
        turn: How the model goes on after steps of its own: `auto` is what the provider can do.
            `continued` carries the text on; `new_turn` begins a message after it; `asked` has the
            user ask for that.
    """
    words = find_continuation(prompts)
    options = ContinuationOptions(own_reasoning, notice, notice_for, answer_role, turn)
    refusing: set[str] = set()
    """Models that were seen to refuse a trailing assistant message: not tried again."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = str(state.model)
        planned = plan_turn(options.turn, state.model.api)

        async def hold(variation: Variation) -> Talk:
            plan = TurnPlan("asked") if model in refusing else planned
            talk = conversation(words, state.input_text, state.metadata, variation, options, plan)
            async with span(variation, type="variation"):
                held = await _hold(state, generate, talk)
                transcript().info({"variation": variation, "turn": held.record.turn})
            if held.record.turn == "asked":
                refusing.add(model)
            return held

        talks = await collect(*(hold(variation) for variation in VARIATIONS))
        held = dict(zip(VARIATIONS, talks, strict=True))
        keep_variations(state.store, {name: talk.record for name, talk in held.items()})
        state.messages, state.output = held["IR"].messages, held["IR"].output
        return state

    return solve


async def _hold(state: TaskState, generate: Generate, talk: Conversation) -> Talk:
    """Make the calls of a conversation, one after the other."""
    call = next(talk)
    while True:
        try:
            output = await _reply(state, generate, call)
        except TrailingMessageRefusedError as refusal:
            call = talk.throw(refusal)
            continue
        try:
            call = talk.send(output)
        except StopIteration as end:
            held: Talk = end.value
            return held


async def _reply(state: TaskState, generate: Generate, call: Call) -> ModelOutput:
    try:
        return await reply_to(
            state,
            generate,
            call.messages,
            {"extra_body": call.extra_body} if call.extra_body else {},
        )
    except Exception as problem:
        if call.fallback and is_refusal(problem):
            transcript().info(f"A trailing assistant message was refused: {problem}")
            raise TrailingMessageRefusedError from problem
        raise
