"""The critics that judge each step: stepwise by verdicts, reward by a threshold."""

from typing import Literal

from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.concurrency import collect
from misstep.registry import MisstepError, UnknownNameError, Wording, find_judge
from misstep.rewards import (
    RewardWatch,
    StepVerdict,
    find_reward_model,
    judge_messages,
    read_step_verdict,
    worded_judge,
)
from misstep.samples import SolutionMetadata
from misstep.solvers._calls import ask
from misstep.solvers._verdicts import first_below, leave_verdict
from misstep.stores import StepRecord
from misstep.verdicts import NO_ERROR, Unread, Verdict

Calls = Literal["sequential", "parallel"]
CALLS: tuple[Calls, ...] = ("sequential", "parallel")


@solver
def stepwise(style: str = "plain", calls: Calls = "sequential", wording: Wording = "own") -> Solver:
    r"""Judge each step by itself. The verdict is the first step that is judged wrong.

    The conversation shows the judge's earlier verdicts as if all of them were the same. So both
    ways ask the same questions and give the same verdict: `sequential` stops at the first wrong
    step and makes the fewest calls, `parallel` takes one round trip.

    Args:
        style: The prompts: a name in `registry/judges.yaml`.
        calls: Judge the steps one after another (sequential) or all at once (parallel).
        wording: Whose prompts: own, or published: those of GroundedPRM, with the style `written`.
    """
    judge = worded_judge(style, wording)
    if calls not in CALLS:
        raise UnknownNameError("calls", calls, CALLS)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async def judged(step: int) -> StepVerdict:
            messages = judge_messages(judge, state.input_text, steps, step)
            output = await ask(state, generate, messages, step=step)
            return read_step_verdict(output.choices[0], judge)

        steps = state.metadata_as(SolutionMetadata).steps
        verdicts: list[StepVerdict] = []
        if calls == "parallel":
            verdicts = await collect(*(judged(step) for step in range(len(steps))))
        else:
            while len(verdicts) < len(steps) and (not verdicts or verdicts[-1].right is True):
                verdicts.append(await judged(len(verdicts)))
        probabilities = [one.probability for one in verdicts]
        leave_verdict(
            state,
            *_first_wrong(verdicts),
            rewards=[*probabilities, *[None] * (len(steps) - len(verdicts))],
            steps=[_record(one) for one in verdicts],
        )
        return state

    return solve


def _record(verdict: StepVerdict) -> StepRecord:
    right = verdict.right
    word = right.value if isinstance(right, Unread) else "right" if right else "wrong"
    return StepRecord(verdict=word, probability=verdict.probability)


def _first_wrong(verdicts: list[StepVerdict]) -> tuple[Verdict | Unread, str]:
    """Return the first step that was not judged right, and a text that says so."""
    for step, verdict in enumerate(verdicts):
        if isinstance(verdict.right, Unread):
            why = verdict.right
            return why, f"The verdict on step {step} could not be read ({why})."
        if not verdict.right:
            return step, f"Step {step} is the first that was judged wrong: \\boxed{{{step}}}"
    return NO_ERROR, f"No step was judged wrong: \\boxed{{{NO_ERROR}}}"


@solver
def reward(style: str = "plain", threshold: float | None = None) -> Solver:
    r"""Score each step with a reward model. The verdict is the first step under the threshold.

    All steps are scored, also those after the first wrong one. So the log holds every reward, and
    another threshold needs no further call. The reward model is the role `reward`, or else the
    model under test.

    Args:
        style: The prompts of a judge: a name in `registry/judges.yaml`. Models that score steps
            have their own format.
        threshold: A step with a smaller reward is wrong. Default: the reward model's own.
    """
    find_judge(style)
    if threshold is not None and not 0 <= threshold <= 1:
        raise MisstepError(f"threshold={threshold}: expected a number from 0 to 1.")
    watch = RewardWatch()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = find_reward_model(style)
        await watch.probe(model)
        steps = state.metadata_as(SolutionMetadata).steps
        rewards = await model.score_steps(state.input_text, steps)
        limit = model.threshold if threshold is None else threshold
        values = [reward.value for reward in rewards]
        missing = next((reward.missing for reward in rewards if reward.value is None), None)
        watch.add(values, missing)
        leave_verdict(
            state, *first_below(values, limit), rewards=values, missing=missing, threshold=limit
        )
        return state

    return solve
