"""Baselines for all erroneous sections: they call no model."""

from collections.abc import Callable, Iterable

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from misstep.registry import MisstepError


@solver
def no_section() -> Solver:
    """Always: there is no error."""
    return _flagging(lambda sections: ())


@solver
def all_sections() -> Solver:
    """Every section."""
    return _flagging(lambda sections: range(1, sections + 1))


@solver
def section_range(first: int = 3, last: int = 36) -> Solver:
    """Always the same sections, as far as a solution has them.

    The sections 3 to 36 are known to beat many models of the leaderboard under the published rule.

    Args:
        first: The first section to flag, from 1.
        last: The last one.
    """
    if not 1 <= first <= last:
        raise MisstepError(f"first={first}, last={last}: wanted are 1 <= first <= last.")
    return _flagging(lambda sections: range(first, min(last, sections) + 1))


def _flagging(flagged: Callable[[int], Iterable[int]]) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        numbers = list(flagged(len(state.metadata["steps"])))
        lines = [f"Conclusion: {'yes' if numbers else 'no'}"]
        lines += [f"Error Section Number: {number}" for number in numbers]
        state.output = ModelOutput.from_content("none", "\n".join(lines))
        return state

    return solve
