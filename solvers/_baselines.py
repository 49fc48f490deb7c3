"""Baselines: critics that call no model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.arithmetic import false_equations
from misstep.registry import MisstepError
from misstep.samples import SolutionMetadata
from misstep.solvers._verdicts import leave_verdict
from misstep.verdicts import NO_ERROR

_MODEL = "none"

Guess = Callable[[Sequence[str], Random], int]
"""A function from the steps of a solution to a verdict."""


@solver
def no_error() -> Solver:
    """Always answer that there is no error."""
    return _guessing(lambda steps, random: NO_ERROR)


@solver
def last_step() -> Solver:
    """Always answer with the last step."""
    return _guessing(lambda steps, random: len(steps) - 1)


@solver
def late_window() -> Solver:
    """Always answer with the step at 3/4 of the solution, floor(0.75 n): errors are often late."""
    return _guessing(lambda steps, random: 3 * len(steps) // 4)


@solver
def arithmetic() -> Solver:
    """Answer with the first step that contains an equation that does not hold, else -1.

    This is what a calculator can do: numbers and like terms. Other equations are ignored.
    """

    def first_false(steps: Sequence[str], random: Random) -> int:
        return next((i for i, step in enumerate(steps) if false_equations(step)), NO_ERROR)

    return _guessing(first_false)


@solver
def uniform(seed: int = 42) -> Solver:
    """Draw one of the verdicts that a solution allows, each with the same probability.

    Args:
        seed: The seed of the draw, together with the sample's id and epoch.
    """
    return _guessing(lambda steps, random: random.randrange(NO_ERROR, len(steps)), seed)


@solver
def label_distribution(labels: Mapping[str, int], seed: int = 42) -> Solver:
    """Draw a label by its frequency in the data, among the labels that a solution allows.

    Args:
        labels: The number of rows with each label.
        seed: The seed of the draw, together with the sample's id and epoch.
    """
    counts = {int(label): count for label, count in labels.items()}

    def guess(steps: Sequence[str], random: Random) -> int:
        allowed = {label: count for label, count in counts.items() if label < len(steps)}
        return random.choices(list(allowed), weights=list(allowed.values()))[0]

    return _guessing(guess, seed)


def _guessing(guess: Guess, seed: int = 0) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        random = Random(f"{seed}/{state.sample_id}/{state.epoch}")  # noqa: S311 (not a secret)
        verdict = guess(state.metadata_as(SolutionMetadata).steps, random)
        leave_verdict(state, verdict, f"\\boxed{{{verdict}}}", model=_MODEL)
        return state

    return solve


@solver
def no_section() -> Solver:
    """Flag no section."""
    return _flagging(lambda sections: ())


@solver
def all_sections() -> Solver:
    """Flag every section."""
    return _flagging(lambda sections: range(1, sections + 1))


@solver
def section_range(first: int = 3, last: int = 36) -> Solver:
    """Flag the same range of sections in every solution.

    The sections 3 to 36 are known to beat many models of the leaderboard under the published rule.

    Args:
        first: The first section to flag, from 1.
        last: The last section to flag.
    """
    if not 1 <= first <= last:
        raise MisstepError(f"first={first}, last={last}: expected 1 <= first <= last.")
    return _flagging(lambda sections: range(first, min(last, sections) + 1))


def _flagging(flagged: Callable[[int], Iterable[int]]) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        numbers = list(flagged(len(state.metadata_as(SolutionMetadata).steps)))
        lines = [f"Conclusion: {'yes' if numbers else 'no'}"]
        lines += [f"Error Section Number: {number}" for number in numbers]
        state.output = ModelOutput.from_content(_MODEL, "\n".join(lines))
        return state

    return solve
