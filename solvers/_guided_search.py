"""The solver of the guided search eval: a method, and what it leaves for the scorer."""

from collections.abc import Sequence
from random import Random

from inspect_ai.model import ChatMessageAssistant, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import REWARDS
from misstep.rewards import Aggregation, RewardModel, find_reward_model
from misstep.scorers import FOUND, Solved
from misstep.solvers._account import Account
from misstep.solvers._policy import BLANK_LINE, Continuation, Policy
from misstep.solvers._sampling import (
    Sampled,
    best_solutions,
    draw_solutions,
    keep_solutions,
    majority_answer,
    with_rewards,
)
from misstep.solvers._search import Search
from misstep.solvers._search_settings import STEPWISE, Method, SearchSettings

SEARCH = "search"
"""Where a sample's store has every iteration, or every solution."""


@solver
def guided_search(
    method: Method = "greedy",
    n: int = 8,
    width: int = 4,
    aggregation: Aggregation = "last",
    max_steps: int = 30,
    style: str = "written",
    continuation: Continuation = "auto",
    budget: int | None = None,
) -> Solver:
    """Solve a problem by a search that rewards guide, or by one of its baselines.

    The policy is the model under test. The reward model is the role `reward`, which methods that
    need rewards must be given: a model does not guide itself unless it is told to.

    Args:
        method: greedy, beam, best_of_n, majority or plain.
        n: Candidates for a step, or solutions.
        width: Paths that a beam search keeps.
        aggregation: What a solution or a path is worth: last, min, product or mean.
        max_steps: Iterations of a search at most.
        style: How a chat model is asked for rewards.
        continuation: Whether the policy continues its own turn (prefill) or is asked (prompt).
        budget: Tokens of policy and reward model together.
    """
    settings = SearchSettings(method, n, width, aggregation, max_steps, style, continuation, budget)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        account = Account(budget)
        policy = Policy(state, account.counting(generate), settings.continuation)
        # Of random draws only ties depend on it.
        random = Random(f"{settings.seed}/{state.sample_id}/{state.epoch}")  # noqa: S311
        if settings.method in STEPWISE:
            text, found = await _searched(state, settings, policy, account, random)
        else:
            text, found = await _sampled(state, settings, policy, account, random)
        state.messages.append(ChatMessageAssistant(content=text))
        state.output = ModelOutput.from_content(str(state.model), text)
        spent = found.model_copy(update={"budget": account.record()})
        state.output.metadata = {FOUND: spent.model_dump()}
        return state

    return solve


def _rewards(settings: SearchSettings, account: Account) -> RewardModel:
    return find_reward_model(
        settings.style, required=True, on_output=lambda output: account.spend("reward", output)
    )


async def _searched(
    state: TaskState, settings: SearchSettings, policy: Policy, account: Account, random: Random
) -> tuple[str, Solved]:
    width = settings.width if settings.method == "beam" else 1
    search = Search(
        policy,
        _rewards(settings, account),
        account,
        random,
        settings.n,
        width,
        settings.aggregation,
        settings.max_steps,
    )
    found = await search.run(state.input_text)
    state.store.set(SEARCH, found.iterations)
    state.store.set(REWARDS, list(found.path.rewards))
    steps = list(found.path.steps)
    solved = Solved(answer=found.path.answer, steps=steps, unfinished=found.why)
    return BLANK_LINE.join(steps), solved


async def _sampled(
    state: TaskState, settings: SearchSettings, policy: Policy, account: Account, random: Random
) -> tuple[str, Solved]:
    n = 1 if settings.method == "plain" else settings.n
    budgeted = settings.budget is not None and settings.method != "plain"
    solutions = await draw_solutions(policy, account, n, budgeted)
    if settings.method == "plain":
        [only] = solutions
        why = "it was cut off for its length" if only.cut else None
        return only.text, Solved(answer=only.answer, steps=only.steps, unfinished=why)
    if settings.method == "majority":
        state.store.set(SEARCH, keep_solutions(solutions))
        answers = [solution.answer for solution in solutions]
        voted = await majority_answer(answers)
        shown = next((one for one in solutions if one.answer == voted), solutions[0])
        return shown.text, Solved(answer=voted, steps=shown.steps, answers=answers)
    solutions = await with_rewards(_rewards(settings, account), state.input_text, solutions)
    state.store.set(SEARCH, keep_solutions(solutions))
    return await chosen_solution(solutions, settings.aggregation, random)


async def chosen_solution(
    solutions: Sequence[Sampled], aggregation: Aggregation, random: Random
) -> tuple[str, Solved]:
    """The best of some solutions, with what other ways to choose would have answered.

    Args:
        solutions: The solutions, with rewards.
        aggregation: What a solution is worth.
        random: Breaks ties.
    """
    answers = [solution.answer for solution in solutions]
    best = best_solutions(solutions, random)
    alternatives: dict[str, str | None] = {"majority": await majority_answer(answers)}
    alternatives |= {name: one.answer if one else None for name, one in best.items()}
    chosen = best[aggregation]
    return chosen.text if chosen else "", Solved(
        answer=chosen.answer if chosen else None,
        steps=chosen.steps if chosen else [],
        unfinished=None if chosen else "no solution has all its rewards",
        alternatives=alternatives,
        answers=answers,
    )
