"""The critic that goes by rewards."""

from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import MisstepError, find_judge
from misstep.rewards import find_reward_model
from misstep.solvers._threshold import first_below


@solver
def reward(style: str = "single_token", threshold: float | None = None) -> Solver:
    r"""The first step whose reward is under the threshold is the verdict.

    All steps are scored, whatever the first of them gives: the log then holds every reward, and
    another threshold needs no further call. The reward model is the role `reward` where one is
    given, else the model under test.

    Args:
        style: How a judge is asked: a name in `registry/judges.yaml`. Models that score steps have
            a way of their own.
        threshold: A step with a smaller reward is wrong; where not given, the reward model's own.
    """
    find_judge(style)
    if threshold is not None and not 0 <= threshold <= 1:
        raise MisstepError(f"threshold={threshold}: a number from 0 to 1 is needed.")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = find_reward_model(style)
        rewards = await model.score_steps(state.input_text, state.metadata["steps"])
        limit = model.threshold if threshold is None else threshold
        values = [reward.value for reward in rewards]
        why = next((reward.missing for reward in rewards if reward.value is None), None)
        state.output = first_below(str(state.model), values, limit, why=why)
        return state

    return solve
