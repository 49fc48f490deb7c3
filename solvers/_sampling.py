"""Whole solutions, and the choice among them: the baselines of a guided search."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from inspect_ai.log import transcript

from misstep.boxes import last_boxed
from misstep.rewards import AGGREGATIONS, Aggregation, Reward, RewardModel, aggregate
from misstep.scorers import compare_answers
from misstep.solvers._policy import BLANK_LINE, Account, Policy, text_of
from misstep.stores import SampledSolutionRecord, SearchResult

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


async def draw_solutions(
    policy: Policy, account: Account, n: int, budgeted: bool
) -> list[SampledSolution]:
    """Draw n solutions, or with a budget rounds of n until it is used up."""
    drawn: list[SampledSolution] = []
    for _ in range(_MOST_ROUNDS if budgeted else 1):
        before = account.tokens["policy"]
        for choice in await policy.solutions(n):
            text = text_of(choice).strip()
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
