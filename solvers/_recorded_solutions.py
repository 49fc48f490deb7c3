"""The solver that chooses among solutions recorded elsewhere."""

from random import Random

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import RECORDED
from misstep.rewards import Aggregation, Reward
from misstep.scorers import FOUND
from misstep.solvers._asking import SEED
from misstep.solvers._guided_search import SEARCH, chosen_solution
from misstep.solvers._policy import BLANK_LINE
from misstep.solvers._sampling import Sampled, keep_solutions


@solver
def recorded_best_of_n(aggregation: Aggregation = "last") -> Solver:
    """Choose the best of the recorded solutions by the recorded scores of their steps.

    Args:
        aggregation: What a solution is worth: last, min, product or mean.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        solutions = [
            Sampled(
                text=BLANK_LINE.join(one["steps"]),
                answer=one["answer"],
                cut=False,
                rewards=[Reward(score) for score in one["scores"]],
            )
            for one in state.metadata.pop(RECORDED)
        ]
        state.store.set(SEARCH, keep_solutions(solutions))
        random = Random(f"{SEED}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        text, found = await chosen_solution(solutions, aggregation, random)
        state.output = ModelOutput.from_content(str(state.model), text)
        state.output.metadata = {FOUND: found.model_dump()}
        return state

    return solve
