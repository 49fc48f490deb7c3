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
]
DIFFERENT = [
    ("7", "8"),
    ("", "8"),
    (r"\frac{1}{2}", "0.51"),
    ("(1,2)", "(2,1)"),
    ("[0,1)", "(0,1)"),
    (r"\text{even}", r"\text{odd}"),
    ("Dog", "Cat"),
]


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
