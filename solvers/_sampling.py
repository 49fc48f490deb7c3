"""Whole solutions, and which of them to believe: the baselines of a guided search."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from inspect_ai.log import transcript

from misstep.boxes import last_boxed
from misstep.rewards import AGGREGATIONS, Aggregation, Reward, RewardModel, aggregate
from misstep.scorers import compare_answers
from misstep.solvers._account import Account
from misstep.solvers._policy import BLANK_LINE, Policy, written

_MOST_ROUNDS = 100


@dataclass(frozen=True)
class Sampled:
    """One solution."""

    text: str
    answer: str | None
    cut: bool
    """It ended for its length."""
    rewards: list[Reward] = field(default_factory=list)

    @property
    def steps(self) -> list[str]:
        """The paragraphs that are not empty."""
        return [step.strip() for step in self.text.split(BLANK_LINE) if step.strip()]

    def worth(self, aggregation: Aggregation) -> float | None:
        """One number out of its rewards; None where one is missing."""
        return aggregate([reward.value for reward in self.rewards], aggregation)


async def draw_solutions(policy: Policy, account: Account, n: int, budgeted: bool) -> list[Sampled]:
    """Solutions: n of them, or with a budget rounds of n until it is spent."""
    drawn: list[Sampled] = []
    for _ in range(_MOST_ROUNDS if budgeted else 1):
        before = account.tokens["policy"]
        for choice in await policy.solutions(n):
            text = written(choice).strip()
            cut = choice.stop_reason in ("max_tokens", "model_length")
            drawn.append(Sampled(text, last_boxed(text), cut))
        # A server that does not tell its tokens would be asked without end.
        if account.exhausted or account.tokens["policy"] == before:
            break
    return drawn


async def with_rewards(
    rewards: RewardModel, problem: str, solutions: Sequence[Sampled]
) -> list[Sampled]:
    """The solutions with the rewards of their steps; equal ones are scored once."""
    texts = list(dict.fromkeys(solution.text for solution in solutions if solution.steps))
    steps = {solution.text: solution.steps for solution in solutions}
    scored = await rewards.score_solutions(problem, [steps[text] for text in texts])
    known = dict(zip(texts, scored, strict=True))
    return [Sampled(s.text, s.answer, s.cut, known.get(s.text, [])) for s in solutions]


async def majority_answer(answers: Sequence[str | None]) -> str | None:
    """The answer that most solutions give, mathematically compared; of several the first seen."""
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


def best_solutions(
    solutions: Sequence[Sampled], random: Random
) -> dict[Aggregation, Sampled | None]:
    """The best solution by each aggregation; one with a missing reward is left out."""
    shuffled = random.sample(list(solutions), len(solutions))
    best: dict[Aggregation, Sampled | None] = {}
    for aggregation in AGGREGATIONS:
        worths = {i: solution.worth(aggregation) for i, solution in enumerate(shuffled)}
        known = {i: worth for i, worth in worths.items() if worth is not None}
        best[aggregation] = shuffled[max(known, key=known.__getitem__)] if known else None
    return best


def keep_solutions(solutions: Sequence[Sampled]) -> list[dict[str, Any]]:
    """Leave an account of the solutions in the log; what the store keeps."""
    records = [
        {
            "text": solution.text,
            "answer": solution.answer,
            "rewards": [reward.value for reward in solution.rewards],
            "missing": next((r.missing for r in solution.rewards if r.missing), None),
        }
        for solution in solutions
    ]
    lines = ["| | answer | " + " | ".join(AGGREGATIONS) + " |", "| --- " * 6 + "|"]
    for i, solution in enumerate(solutions):
        worths = [solution.worth(aggregation) for aggregation in AGGREGATIONS]
        shown = ["" if worth is None else f"{worth:.4f}" for worth in worths]
        answer = "" if solution.answer is None else f"`{' '.join(solution.answer.split())[:80]}`"
        lines.append(f"| {i} | {answer.replace('|', '¦')} | {' | '.join(shown)} |")
    transcript().info("\n".join(lines), source="solutions")
    return records
