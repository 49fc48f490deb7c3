"""Process reward models that score steps: their facts, their input, their values, and a probe.

The probe tells whether a model scores every step of solutions whose wrong step is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, nan

from inspect_ai.model import Model

from misstep.providers import scoring_messages, short_errors
from misstep.registry import NUMBER, PROBLEM, STEP, STEPS, ModelError, Prm, fill, find_prm
from misstep.stores import StepRewards

BOS = "{bos}"


def find_scoring_prm(model: str, arguments: Mapping[str, object], judge_provider: str) -> Prm:
    """Return the facts of a model, such as `prm/qwen2.5-math-prm-7b`. Arguments override them."""
    prm = find_prm(model.partition("/")[2])
    if prm.way == "judge":
        raise ModelError(
            f"{model} is a chat model that judges step by step. Run it with "
            f"--model {judge_provider}/{prm.repository} -T critic=reward -T style={prm.style}."
        )
    facts = {name: value for name, value in arguments.items() if name in Prm.model_fields}
    if "step_token" in facts:
        facts["step"] = str(prm.step).replace(str(prm.step_token), str(facts["step_token"]))
    try:
        return Prm.model_validate(prm.model_dump() | facts)
    except ValueError as error:
        raise ModelError(f"{model}: {' '.join(str(error).split())}") from None


def prm_input(prm: Prm, problem: str, steps: Sequence[str], bos: str = "") -> str:
    """Return the whole input of a reward model."""
    token = str(prm.step_token)
    # A separator inside a text would count as the end of a step, so it gets a space inside. A line
    # break stays as it is: texts do contain line breaks, and there the token's position decides.
    harmless = token if token.isspace() else f"{token[0]} {token[1:]}"
    joined = "".join(
        fill(str(prm.step), {STEP: step.replace(token, harmless), NUMBER: str(number)})
        for number, step in enumerate(steps, start=1)
    )
    values = {PROBLEM: problem.replace(token, harmless), STEPS: joined, BOS: bos}
    return fill(str(prm.template), values)


def prm_pieces(prm: Prm, problem: str, steps: Sequence[str], bos: str = "") -> list[str]:
    """Return the input in pieces: the text before the steps, then each step without separator."""
    before, _, _ = str(prm.template).partition(STEPS)
    return [fill(before, {PROBLEM: problem, BOS: bos}), *steps]


def read_reward(prm: Prm, values: object, probabilities: bool) -> float:
    """Return the reward in a result for one step, or nan if the result is invalid.

    A result is one value, or one value for each label: probabilities or logits.
    """
    if isinstance(values, int | float):
        numbers = [float(values)]
    elif isinstance(values, list) and all(isinstance(value, int | float) for value in values):
        numbers = [float(value) for value in values]
    else:
        return nan
    if prm.labels is None:
        if len(numbers) != 1:
            return nan
        return numbers[0] if probabilities else _sigmoid(numbers[0])
    if len(numbers) != len(prm.labels) or not all(map(isfinite, numbers)):
        return nan
    right = prm.labels.index(str(prm.right))
    return numbers[right] if probabilities else _softmax(numbers)[right]


def are_probabilities(results: Sequence[object]) -> bool:
    """Return whether results with several values each are probabilities: they add up to 1.

    Logits do not. A softmax of probabilities would squeeze rewards into 0.27 to 0.73.
    """
    lists = [values for values in results if isinstance(values, list) and len(values) > 1]
    return bool(lists) and all(
        all(isinstance(value, int | float) and 0 <= value <= 1 for value in values)
        and abs(sum(values) - 1) < 1e-3
        for values in lists
    )


def _sigmoid(x: float) -> float:
    if not isfinite(x):
        return nan
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def _softmax(values: list[float]) -> list[float]:
    largest = max(values)
    powers = [exp(value - largest) for value in values]
    return [power / sum(powers) for power in powers]


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
