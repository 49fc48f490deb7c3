import json
from pathlib import Path

import anyio
import pytest

from misstep.scorers import ComparisonOutcome, compare_answers, compare_texts

SAME = [
    ("0.5", "1/2"),
    ("1,000", "1000"),
    ("12", "12.0"),
    ("−3", "-3"),
    (r"\frac{1}{2}", "0.5"),
    (r"2\sqrt{3}", r"\sqrt{12}"),
    ("x = 3", "3"),
    (r"\{1,2\}", r"\{2,1\}"),
    (r"x^2+2x+1", "(x+1)^2"),
    (r"\left( 1, 2 \right)", "(1,2)"),
    (r"5 \text{ cm}", "5"),
    # Equal to six decimals.
    ("0.3333333", "1/3"),
    ("1.5000001", "1.5"),
    ("0,111", "0.111"),
    ("$7$", "7"),
    (r"5\$", "5"),
    ("x\n= 3", "3"),
    ("3.", "3"),
]
DIFFERENT = [
    ("7", "8"),
    ("", "8"),
    (r"\frac{1}{2}", "0.51"),
    ("(1,2)", "(2,1)"),
    ("[0,1)", "(0,1)"),
    (r"\text{even}", r"\text{odd}"),
    ("Dog", "Cat"),
    # White space counts.
    ("1 2", "12"),
    ("1 1/2", "11/2"),
    ("0,111", "111"),
    ("1,234", "1, 234"),
    ("12 x", "1 2x"),
    (r"x \leftarrow y", r"x \rightarrow y"),
    ("0.333", "1/3"),
]


CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "math_verify_cases.jsonl").read_text("utf-8").splitlines()
]
"""The test cases of math-verify 0.9.0 (PyPI) that compare two single answers: the formulas, or the
contents of the boxes, of its pairs of texts. Left out are texts with several boxes or formulas,
because the answer of a solution is its last box, and tests with settings other than the defaults.
"""

DISAGREEMENTS = {
    ("1 000", "1000"): "in a formula, a space is no thousands separator: it is a product",
    ("1000,99", "1000.99"): "in a formula, these are two numbers",
    ("1.22", "1,22"): "in a formula, these are two numbers",
    (" \n 9 \n ", "9"): "an answer may have line breaks; math-verify finds no formula across lines",
}
"""The cases that come out otherwise here, by answer and target, each with the reason."""


def test_math_verifys_own_cases_come_out_as_published():
    found = {}
    for case in CASES:
        answer, target = case["answer"], case["target"]
        if compare_texts(answer, target).same is not case["same"]:
            found[answer, target] = case["test"]
    assert found.keys() == DISAGREEMENTS.keys()
    assert len(CASES) == 192


@pytest.mark.parametrize(("answer", "target"), SAME)
def test_another_spelling_is_the_same_answer(answer, target):
    assert compare_texts(answer, target).outcome is ComparisonOutcome.SAME


@pytest.mark.parametrize(("answer", "target"), DIFFERENT)
def test_different_answers_say_how_they_differ(answer, target):
    comparison = compare_texts(answer, target)
    assert comparison.outcome is ComparisonOutcome.DIFFERENT
    assert comparison.reason


@pytest.mark.parametrize("target", ["", "   "])
def test_no_target_is_undecided(target):
    assert compare_texts("7", target).outcome is ComparisonOutcome.UNDECIDED


def test_a_very_long_answer_is_not_read_as_mathematics():
    comparison = compare_texts("x+" * 5_000, "x")
    assert comparison.outcome is ComparisonOutcome.UNDECIDED
    assert "10,000 characters" in comparison.reason


def test_answers_that_explode_are_undecided_and_the_rest_goes_on():
    async def compare():
        explosive = await compare_answers("9^{9^{9^9}}", "5", seconds=1)
        unstoppable = await compare_answers("(999999999!)!", "7x", seconds=1)
        return explosive, unstoppable, await compare_answers(r"\frac{2}{4}", "0.5")

    explosive, unstoppable, plain = anyio.run(compare)
    assert explosive.outcome is ComparisonOutcome.UNDECIDED
    assert "took too long" in explosive.reason
    assert unstoppable.outcome is ComparisonOutcome.UNDECIDED
    assert plain.outcome is ComparisonOutcome.SAME
