"""The solver of guided search: a search by rewards, or a choice among whole solutions."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, TypeAlias

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessageAssistant,
    GenerateConfig,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep._inspect_private import active_model
from misstep.boxes import last_boxed
from misstep.providers import remembered_refusals
from misstep.registry import MisstepError, UnknownNameError, find_judge
from misstep.rewards import (
    AGGREGATIONS,
    REWARD_ROLE,
    Aggregation,
    Reward,
    RewardModel,
    RewardWatch,
    aggregate,
    find_reward_model,
)
from misstep.samples import RecordedSolutionsMetadata
from misstep.scorers import compare_answers
from misstep.solvers._calls import SEED
from misstep.solvers._search import (
    BLANK_LINE,
    CONTINUATIONS,
    Account,
    Continuation,
    Policy,
    Search,
    choice_text,
)
from misstep.stores import SampledSolutionRecord, SearchRecord, SearchResult

_MOST_ROUNDS = 100


@dataclass(frozen=True)
class SampledSolution:
    """One solution."""

    text: str
    answer: str | None
    cut: bool
    """The solution reached the length limit."""
    rewards: list[Reward] = field(default_factory=list)

    @property
    def steps(self) -> list[str]:
        """The paragraphs that are not empty."""
        return [step.strip() for step in self.text.split(BLANK_LINE) if step.strip()]

    def combined_reward(self, aggregation: Aggregation) -> float | None:
        """Return one number from all rewards, or None if one is missing."""
        return aggregate([reward.value for reward in self.rewards], aggregation)


async def sample_solutions(
    policy: Policy, account: Account, n: int, budgeted: bool
) -> list[SampledSolution]:
    """Draw n solutions, or with a budget rounds of n until it is used up."""
    drawn: list[SampledSolution] = []
    for _ in range(_MOST_ROUNDS if budgeted else 1):
        before = account.tokens["policy"]
        for choice in await policy.solutions(n):
            text = choice_text(choice).strip()
            cut = choice.stop_reason in ("max_tokens", "model_length")
            drawn.append(SampledSolution(text, last_boxed(text), cut))
        # If a server does not report its tokens, the budget would never be used up.
        if account.is_exhausted or account.tokens["policy"] == before:
            break
    return drawn


async def with_rewards(
    model: RewardModel, problem: str, solutions: Sequence[SampledSolution]
) -> list[SampledSolution]:
    """Return the solutions with the rewards of their steps. Equal solutions are scored once."""
    steps = {solution.text: solution.steps for solution in solutions if solution.steps}
    scored = await model.score_solutions(problem, list(steps.values()))
    known = dict(zip(steps, scored, strict=True))
    return [replace(one, rewards=known.get(one.text, [])) for one in solutions]


async def majority_answer(answers: Sequence[str | None]) -> str | None:
    """Return the most frequent answer, compared mathematically. On a tie, the first one wins."""
    groups: list[list[str]] = []
    for answer in answers:
        if answer is None:
            continue
        for group in groups:
            if answer in group or (await compare_answers(answer, group[0])).same:
                group.append(answer)
                break
        else:
            groups.append([answer])
    return max(groups, key=len)[0] if groups else None


async def choose_solution(
    solutions: Sequence[SampledSolution], aggregation: Aggregation, random: Random
) -> tuple[str, SearchResult]:
    """Return the text of the best solution, and the result with the answers of other choices."""
    answers = [solution.answer for solution in solutions]
    best = _best_solutions(solutions, random)
    alternatives: dict[str, str | None] = {"majority": await majority_answer(answers)}
    alternatives |= {name: one.answer if one else None for name, one in best.items()}
    chosen = best[aggregation]
    return chosen.text if chosen else "", SearchResult(
        answer=chosen.answer if chosen else None,
        steps=chosen.steps if chosen else [],
        unfinished=None if chosen else _why_unchosen(solutions),
        alternatives=alternatives,
        answers=answers,
    )


def _why_unchosen(solutions: Sequence[SampledSolution]) -> str:
    """Return why no solution could be chosen, with the cause of the first missing reward."""
    causes = (reward.missing for one in solutions for reward in one.rewards if reward.missing)
    cause = next(causes, None if any(one.steps for one in solutions) else "all are empty")
    return "no solution has all its rewards" + (f": {cause}" if cause else "")


def _best_solutions(
    solutions: Sequence[SampledSolution], random: Random
) -> dict[Aggregation, SampledSolution | None]:
    """Return the best solution by each aggregation, among those with all their rewards."""
    shuffled = random.sample(list(solutions), len(solutions))
    best: dict[Aggregation, SampledSolution | None] = {}
    for aggregation in AGGREGATIONS:
        values = {i: one.combined_reward(aggregation) for i, one in enumerate(shuffled)}
        known = {i: value for i, value in values.items() if value is not None}
        best[aggregation] = shuffled[max(known, key=known.__getitem__)] if known else None
    return best


def record_solutions(solutions: Sequence[SampledSolution]) -> list[SampledSolutionRecord]:
    """Write a table of the solutions to the transcript, and return their records."""
    lines = ["| | answer | " + " | ".join(AGGREGATIONS) + " |", "| --- " * 6 + "|"]
    for i, solution in enumerate(solutions):
        values = [solution.combined_reward(aggregation) for aggregation in AGGREGATIONS]
        shown = ["" if value is None else f"{value:.4f}" for value in values]
        answer = "" if solution.answer is None else f"`{' '.join(solution.answer.split())[:80]}`"
        lines.append(f"| {i} | {answer.replace('|', '¦')} | {' | '.join(shown)} |")
    transcript().info("\n".join(lines), source="solutions")
    return [
        SampledSolutionRecord(
            text=solution.text,
            answer=solution.answer,
            rewards=[reward.value for reward in solution.rewards],
            missing=next((r.missing for r in solution.rewards if r.missing), None),
        )
        for solution in solutions
    ]


Method: TypeAlias = Literal["greedy", "beam", "best_of_n", "majority", "plain"]
METHODS: tuple[Method, ...] = ("greedy", "beam", "best_of_n", "majority", "plain")
STEPWISE: tuple[Method, ...] = ("greedy", "beam")
REWARDED: tuple[Method, ...] = (*STEPWISE, "best_of_n")
"""The methods that need a reward model."""

TEMPERATURE = 0.7
STEP_TOKENS = 512
SOLUTION_TOKENS = 2048


def search_config(method: Method) -> GenerateConfig:
    """Return the default generate options of the policy."""
    if method in STEPWISE:
        return GenerateConfig(temperature=TEMPERATURE, max_tokens=STEP_TOKENS, seed=SEED)
    temperature = 0.0 if method == "plain" else TEMPERATURE
    return GenerateConfig(temperature=temperature, max_tokens=SOLUTION_TOKENS, seed=SEED)


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

    The policy is the model under test. The reward model is the role `reward`. Methods that need
    rewards require this role: a model does not guide itself unless the user says so.

    Args:
        method: greedy, beam, best_of_n, majority or plain.
        n: The number of candidates for a step, or of solutions.
        width: The number of paths that a beam search keeps.
        aggregation: How to combine the rewards of a solution or a path: last, min, product or mean.
        max_steps: The maximum number of iterations of a search.
        style: The prompts of a chat model that gives rewards.
        continuation: Whether the policy continues its own turn (prefill) or is asked (prompt).
        budget: The maximum number of tokens of policy and reward model together.

    Raises:
        MisstepError: A number is out of range.
        UnknownNameError: The method, aggregation, style or continuation is unknown.
    """
    _check_name("method", method, METHODS)
    _check_name("aggregation", aggregation, AGGREGATIONS)
    _check_name("continuation", continuation, CONTINUATIONS)
    find_judge(style)
    _check_counts(n=n, width=width, max_steps=max_steps, budget=1 if budget is None else budget)
    if method == "beam" and width > n:
        raise MisstepError(
            f"width={width}: a beam search keeps at most as many paths as it draws candidates, "
            f"n={n}."
        )

    # The roles are known if Inspect makes the task for a run, by its name or file. It does so
    # inside an event loop. Outside of one, an earlier eval set may have left its model and roles.
    known = active_model() is not None and _in_event_loop()
    if method in REWARDED and known and REWARD_ROLE not in model_roles():
        raise MisstepError(
            f"method={method} needs a reward model: add --model-role reward=<model>. Methods "
            f"without one: {', '.join(m for m in METHODS if m not in REWARDED)}."
        )

    watch = RewardWatch()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        account = Account(budget)
        refusals = remembered_refusals(get_model().api)
        policy = Policy(state, account.counting(generate), continuation, refusals)
        # Only ties depend on these random draws.
        random = Random(f"{SEED}/{state.sample_id}/{state.epoch}")  # noqa: S311

        async def rewards() -> RewardModel:
            model = find_reward_model(
                style, required=True, on_output=lambda output: account.add_call("reward", output)
            )
            await watch.probe(model)
            return model

        left = state.store_as(SearchRecord)
        if method in STEPWISE:
            places = width if method == "beam" else 1
            scoring = await rewards()
            search = Search(policy, scoring, account, random, n, places, aggregation, max_steps)
            path, unfinished = await search.run(state.input_text)
            left.iterations, left.rewards = search.iterations, list(path.rewards)
            drawn = [one for iteration in search.iterations for one in iteration.candidates]
            watch.add([one.reward for one in drawn], next((one.missing for one in drawn), None))
            steps = list(path.steps)
            text = BLANK_LINE.join(steps)
            result = SearchResult(answer=path.answer, steps=steps, unfinished=unfinished)
        elif method == "plain":
            [only] = await sample_solutions(policy, account, 1, budgeted=False)
            cut = "it reached the length limit" if only.cut else None
            text = only.text
            result = SearchResult(answer=only.answer, steps=only.steps, unfinished=cut)
        elif method == "majority":
            solutions = await sample_solutions(policy, account, n, budget is not None)
            left.solutions = record_solutions(solutions)
            answers = [solution.answer for solution in solutions]
            voted = await majority_answer(answers)
            shown = next((one for one in solutions if one.answer == voted), solutions[0])
            text = shown.text
            result = SearchResult(answer=voted, steps=shown.steps, answers=answers)
        else:
            solutions = await sample_solutions(policy, account, n, budget is not None)
            solutions = await with_rewards(await rewards(), state.input_text, solutions)
            left.solutions = record_solutions(solutions)
            given = [reward for one in left.solutions for reward in one.rewards]
            watch.add(given, next((one.missing for one in left.solutions), None))
            text, result = await choose_solution(solutions, aggregation, random)
        left.result = result.model_copy(update={"budget": account.record()})
        state.messages.append(ChatMessageAssistant(content=text))
        state.output = ModelOutput.from_content(str(state.model), text)
        return state

    return solve


def _check_name(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise UnknownNameError(what, name, known)


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise MisstepError(f"{name}={value}: expected a whole number of at least 1.")


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@solver
def recorded_best_of_n(aggregation: Aggregation = "last") -> Solver:
    """Choose the best of the recorded solutions by the recorded scores of their steps.

    Args:
        aggregation: How to combine the rewards of a solution: last, min, product or mean.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        solutions = [
            SampledSolution(
                text=BLANK_LINE.join(one.steps),
                answer=one.answer,
                cut=False,
                rewards=[Reward(score) for score in one.scores],
            )
            for one in state.metadata_as(RecordedSolutionsMetadata).recorded
        ]
        # The store keeps the solutions, so the metadata drops them.
        del state.metadata["recorded"]
        random = Random(f"{SEED}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        left = state.store_as(SearchRecord)
        left.solutions = record_solutions(solutions)
        text, left.result = await choose_solution(solutions, aggregation, random)
        state.output = ModelOutput.from_content(str(state.model), text)
        return state

    return solve
