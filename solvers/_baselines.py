"""Critics that call no model: what every table needs beside it."""

from collections.abc import Callable, Mapping
from random import Random

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.verdicts import NO_ERROR

Guess = Callable[[int, Random], int]
"""A verdict for a solution of so many steps."""


@solver
def no_error() -> Solver:
    """Always: there is no error."""
    return _guessing(lambda steps, random: NO_ERROR)


@solver
def last_step() -> Solver:
    """Always the last step."""
    return _guessing(lambda steps, random: steps - 1)


@solver
def uniform(seed: int = 42) -> Solver:
    """Any verdict that a solution allows, each as likely as the other.

    Args:
        seed: With the sample's id and epoch, this decides the draw.
    """
    return _guessing(lambda steps, random: random.randrange(NO_ERROR, steps), seed)


@solver
def label_distribution(labels: Mapping[str, int], seed: int = 42) -> Solver:
    """A label drawn as often as it occurs in the data, among those that a solution allows.

    Args:
        labels: How many rows have each label.
        seed: With the sample's id and epoch, this decides the draw.
    """
    counts = {int(label): count for label, count in labels.items()}

    def guess(steps: int, random: Random) -> int:
        allowed = {label: count for label, count in counts.items() if label < steps}
        return random.choices(list(allowed), weights=list(allowed.values()))[0]

    return _guessing(guess, seed)


def _guessing(guess: Guess, seed: int = 0) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        random = Random(f"{seed}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        verdict = guess(len(state.metadata["steps"]), random)
        state.output = ModelOutput.from_content("none", f"\\boxed{{{verdict}}}")
        return state

    return solve
