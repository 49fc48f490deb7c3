"""What a process reward model reads, and what its values mean."""

from collections.abc import Sequence
from math import exp, isfinite, nan

from misstep.registry import NUMBER, PROBLEM, STEP, STEPS, Prm, fill

BOS = "{bos}"


def step_texts(prm: Prm, steps: Sequence[str]) -> list[str]:
    """The steps, each with its separator.

    A separator inside a step would be taken for its end, so it is written with a space in it.
    """
    token = str(prm.step_token)
    # A line break is a separator that steps do hold; there the place of the token decides.
    broken = token if token.isspace() else f"{token[0]} {token[1:]}"
    safe = [step.replace(token, broken) for step in steps]
    return [
        fill(str(prm.step), {STEP: step, NUMBER: str(number)})
        for number, step in enumerate(safe, start=1)
    ]


def prm_input(prm: Prm, problem: str, steps: Sequence[str], bos: str = "") -> str:
    """The whole input."""
    joined = "".join(step_texts(prm, steps))
    return fill(str(prm.template), {PROBLEM: problem, STEPS: joined, BOS: bos})


def prm_pieces(prm: Prm, problem: str, steps: Sequence[str], bos: str = "") -> list[str]:
    """The same in pieces: what stands before the steps, then each step without its separator."""
    before, _, _ = str(prm.template).partition(STEPS)
    return [fill(before, {PROBLEM: problem, BOS: bos}), *steps]


def reward_of(prm: Prm, values: object, probabilities: bool) -> float:
    """The reward that a result holds; nan where it holds none.

    Args:
        prm: The model.
        values: One value, or one for each label.
        probabilities: Whether they are probabilities already.
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


def _sigmoid(x: float) -> float:
    if not isfinite(x):
        return nan
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def _softmax(values: list[float]) -> list[float]:
    most = max(values)
    powers = [exp(value - most) for value in values]
    return [power / sum(powers) for power in powers]
