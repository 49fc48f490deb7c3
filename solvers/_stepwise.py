"""The critic that judges one step at a time."""

from typing import Literal

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import collect

from misstep.registry import UnknownNameError, find_judge
from misstep.rewards import StepVerdict, judge_messages, read_step_verdict
from misstep.scorers import unread_output
from misstep.solvers._asking import ask
from misstep.solvers._threshold import keep_rewards
from misstep.verdicts import NO_ERROR, Unread

Order = Literal["sequential", "parallel"]
ORDERS: tuple[Order, ...] = ("sequential", "parallel")

STEPS = "steps"
"""Where the sample's store keeps what was said of each step."""


@solver
def stepwise(style: str = "single_token", order: Order = "sequential") -> Solver:
    r"""Judge step after step; the first one that is judged wrong is the verdict.

    The judge's earlier replies stand in the conversation as if each had been the same, so both
    orders ask the same questions and give the same verdict: `sequential` stops at the first wrong
    step and makes the fewest calls, `parallel` takes one round trip.

    Args:
        style: How to ask: a name in `registry/judges.yaml`.
        order: Step after step, or all at once.
    """
    judge = find_judge(style)
    if order not in ORDERS:
        raise UnknownNameError("order", order, ORDERS)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async def judged(step: int) -> StepVerdict:
            questions = judge_messages(judge, state.input_text, steps, step)
            output = await ask(state, generate, questions, step=step)
            return read_step_verdict(output.choices[0], judge)

        steps: list[str] = state.metadata["steps"]
        verdicts: list[StepVerdict] = []
        if order == "parallel":
            verdicts = await collect(*(judged(step) for step in range(len(steps))))
        else:
            while len(verdicts) < len(steps) and (not verdicts or verdicts[-1].right is True):
                verdicts.append(await judged(len(verdicts)))
        state.store.set(STEPS, [_record(verdict) for verdict in verdicts])
        state.output = _output(state, verdicts)
        keep_rewards(state.output, [verdict.probability for verdict in verdicts], len(steps))
        return state

    return solve


def _record(verdict: StepVerdict) -> dict[str, object]:
    word = verdict.right if isinstance(verdict.right, Unread) else _word(verdict.right)
    return {"verdict": str(word), "probability": verdict.probability}


def _word(right: bool) -> str:
    return "right" if right else "wrong"


def _output(state: TaskState, verdicts: list[StepVerdict]) -> ModelOutput:
    """The first step that was not judged right, as a critic would write it."""
    model = str(state.model)
    for step, verdict in enumerate(verdicts):
        if isinstance(verdict.right, Unread):
            text = f"The verdict on step {step} could not be read ({verdict.right})."
            return unread_output(model, verdict.right, text)
        if not verdict.right:
            text = f"Step {step} is the first that was judged wrong: \\boxed{{{step}}}"
            return ModelOutput.from_content(model, text)
    return ModelOutput.from_content(model, f"No step was judged wrong: \\boxed{{{NO_ERROR}}}")
