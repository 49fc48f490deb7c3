"""Process reward models that score steps: their facts, their input, and their values."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite, nan

from misstep.registry import NUMBER, PROBLEM, STEP, STEPS, ModelError, Prm, fill, find_prm

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
