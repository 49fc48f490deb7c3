"""Probe a reward model: does it score every step of solutions whose wrong step is known?"""

from collections.abc import Sequence
from dataclasses import dataclass

from inspect_ai.model import Model

from misstep.providers import scoring_messages, short_errors
from misstep.registry import Prm
from misstep.rewards._prm_format import prm_input
from misstep.stores import StepRewards

MARK = "◀"
"""It follows each scored position in the rendered input."""


@dataclass(frozen=True)
class ProbeSolution:
    """A solution whose steps are known to be right or wrong."""

    problem: str
    steps: tuple[str, ...]
    first_wrong: int
    """The index of the first wrong step. The steps before it are right."""


SOLUTIONS = (
    ProbeSolution(
        "Anna has 3 boxes with 4 apples each. She eats 2 apples. How many apples are left?",
        (
            "The boxes hold 3 * 4 = 12 apples.",
            "She eats 2 apples, so 12 - 2 = 10 apples are left.",
            "10 is an odd number, so she bought one more: \\boxed{11}.",
        ),
        2,
    ),
    ProbeSolution(
        "Solve 2x + 6 = 14.",
        (
            "Subtract 6 on both sides: 2x = 8.",
            "Divide both sides by 2: x = 16.",
            "The answer is \\boxed{16}.",
        ),
        1,
    ),
    ProbeSolution(
        "What is the area of a rectangle with sides 5 and 7?",
        (
            "The area of a rectangle is the sum of its sides.",
            "So the area is 5 + 7 = 12.",
            "The answer is \\boxed{12}.",
        ),
        0,
    ),
)
"""The last one has no right step: its first step is compared with the right steps of the others."""


@dataclass(frozen=True)
class ProbeResult:
    """The rewards of the probe's solutions, or why a solution has none."""

    prm: Prm
    rewards: list[list[float | None]]
    missing: str | None = None

    @property
    def passes(self) -> bool:
        """Whether every step has a reward."""
        return self.missing is None

    @property
    def gap(self) -> float:
        """The mean reward of right steps minus that of first wrong steps."""
        right, wrong = self._sides()
        return sum(right) / len(right) - sum(wrong) / len(wrong) if right and wrong else 0.0

    @property
    def discriminates(self) -> bool:
        """Whether every first wrong step scores lower than every right step."""
        right, wrong = self._sides()
        return bool(right and wrong) and max(wrong) < min(right)

    def _sides(self) -> tuple[list[float], list[float]]:
        right, wrong = list[float](), list[float]()
        for solution, rewards in zip(SOLUTIONS, self.rewards, strict=False):
            for step, reward in enumerate(rewards[: solution.first_wrong + 1]):
                if reward is not None:
                    (wrong if step == solution.first_wrong else right).append(reward)
        return right, wrong


async def probe_prm(model: Model, prm: Prm) -> ProbeResult:
    """Score the probe's solutions with a model that scores steps. It stops at a missing reward."""
    rewards: list[list[float | None]] = []
    for solution in SOLUTIONS:
        with short_errors():
            output = await model.generate(scoring_messages(solution.problem, solution.steps))
        scored = StepRewards.model_validate(output.metadata or {})
        if scored.rewards is None or scored.missing:
            return ProbeResult(prm, rewards, scored.missing or "the model gave no rewards")
        rewards.append(scored.rewards)
    return ProbeResult(prm, rewards)


def marked_input(prm: Prm, problem: str, steps: Sequence[str], bos: str = "") -> str:
    """Return the exact input of a reward model, with a mark after each scored position."""
    token = str(prm.step_token)
    whole = prm_input(prm, problem, steps, bos)
    if not token.isspace():
        return whole.replace(token, token + MARK)
    # A line break may also be inside a text, so only those after the steps are marked.
    for step in steps:
        start = whole.index(step) + len(step)
        whole = f"{whole[:start]}{MARK}{whole[start:]}"
    return whole
