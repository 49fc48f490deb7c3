"""Solutions, computed again by a checker that shares nothing with the generator.

`python -m tests.generator.checked 10000` checks ten thousand rows.
"""

import ast
from pathlib import Path

import pytest

from misstep.generator import FAMILIES, solutions
from tests.generator.checked import problem_of
from tests.generator.checker import AGAIN, equation_holds, facts_of, judged
from tests.generator.checker_numbers import value_of


def test_the_checker_agrees_with_every_label_step_and_answer(solved):
    for one in solved:
        assert problem_of(one) is None, (one.id, one.family, one.difficulty, one.error_type)
    assert {one.family for one in solved if one.difficulty > 3} == set(FAMILIES)


def test_the_checker_imports_nothing_of_the_generator():
    modules = list(Path(__file__).parent.glob("checker*.py"))
    assert len(modules) > 5
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not node.module.startswith("misstep"), module


@pytest.mark.parametrize("family", FAMILIES)
def test_a_right_step_after_a_wrong_one_is_noticed_not_to_follow(family):
    noticed = []
    for one in solutions(5, 60, families=family, correct_share=0):
        pairs = enumerate(zip(one.steps, one.correct_steps, strict=True))
        changed = [i for i, (a, b) in pairs if i > one.label and a != b]
        # A repeated step may name a quantity that was stated before.
        changed = [i for i in changed if not AGAIN.match(facts_of(one.steps[i])[0])]
        if one.outcome == "plain" and changed:
            steps = [*one.steps]
            steps[changed[0]] = one.correct_steps[changed[0]]
            noticed.append(not judged(family, one.problem, steps)[1][changed[0]])
    # The smaller or the larger of two numbers can be the right one by chance.
    assert len(noticed) >= 5
    assert sum(noticed) >= 0.6 * len(noticed)


def test_an_error_changes_the_step_and_nothing_before_it(solved):
    for one in solved:
        if one.label < 0:
            assert one.steps == one.correct_steps
            continue
        assert one.steps[: one.label] == one.correct_steps[: one.label]
        assert one.steps[one.label] != one.correct_steps[one.label]
        changed = sum(a != b for a, b in zip(one.steps, one.correct_steps, strict=True)) - 1
        # A step may depend on what its text does not show, such as which of two is greater.
        assert changed <= one.dependants < len(one.steps) - one.label
        assert 0 <= one.distance <= one.label


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 + 7 - 1", 18),
        ("8 × (-9)", -72),
        ("min(3, 2)", 2),
        ("7/4 × 2", 3.5),
        ("9 ÷ 2 - 1", 3.5),
        ("max(2, 1 + 4)", 5),
        ("(5^3) mod 7", 6),
        ("(3^(-1)) mod 7", 5),
        ("(17 * 3 + 2) % 50 + 1", 4),
        ("17 // 5 + 2", 5),
        ("7 × 2^(4 - 1) - 3", 53),
    ],
)
def test_the_checker_computes(text, value):
    assert value_of(text) == value
    assert equation_holds(f"So for it: {text} = {value}.") is True
    assert equation_holds(f"So for it: {text} = {value + 1}.") is False
