import pytest

from misstep.registry import MisstepError, UnknownNameError
from misstep.solvers import find_critic


@pytest.mark.parametrize(
    ("critic", "options", "says"),
    [
        ("critique", {"votes": 0}, "votes=0"),
        ("critique", {"votes": -3}, "votes=-3"),
        ("critique", {"adaptive": True}, "votes=8"),
        ("critique", {"votes": 8, "adaptive": True, "weighted": True}, "does not go with"),
        ("stepwise", {"votes": 8}, "votes go with critic=critique"),
        ("stepwise", {"style": "writen"}, "Did you mean 'written'"),
        ("stepwise", {"calls": "paralel"}, "Did you mean 'parallel'"),
        ("critiqe", {}, "Did you mean 'critique'"),
        ("critique", {"domain": "maths"}, "Did you mean 'mathematics'"),
        ("nowhere.py@mine", {}, "no Python file"),
    ],
)
def test_a_wrong_option_gets_one_clear_message(critic, options, says):
    with pytest.raises(MisstepError, match=says):
        find_critic(critic, [], **options)


MODERN = """
from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from inspect_ai.solver import Generate, Solver, TaskState, solver
from neighbour import WORD


@dataclass
class Count:
    total: int = 0
    words: list[str] = field(default_factory=list)
    kind: ClassVar[str] = WORD


@solver
def first_mine() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return state

    return solve


@solver
def second_mine() -> Solver:
    return first_mine()
"""


@pytest.fixture
def modern_file(tmp_path):
    (tmp_path / "neighbour.py").write_text("WORD = 'x'\n", encoding="utf-8")
    path = tmp_path / "modern.py"
    path.write_text(MODERN, encoding="utf-8")
    return path


def test_a_file_with_postponed_annotations_and_a_neighbour_is_loaded(modern_file):
    assert callable(find_critic(f"{modern_file}@second_mine", []).solver)


def test_a_wrong_solver_name_lists_the_solvers_of_the_file(modern_file):
    with pytest.raises(UnknownNameError, match="Did you mean 'first_mine'") as problem:
        find_critic(f"{modern_file}@first_min", [])
    assert "modern.py" in str(problem.value)
    with pytest.raises(UnknownNameError, match="Allowed: first_mine, second_mine"):
        find_critic(f"{modern_file}@zzz", [])


def test_an_unknown_critic_is_an_unknown_name():
    with pytest.raises(UnknownNameError):
        find_critic("misstep/nothing", [])
