import pytest

from misstep.arithmetic import false_equations


@pytest.mark.parametrize(
    "text",
    [
        "so \\(2x + 3 = 5\\)", "a_3 + 4 = 5", "x^2 + 3 = 5", "\\sqrt{3} + 4 = 5", "3 + 4 = 7x",
        "3 + 4 = 2 \\pmod 5", "1 - 1 - \\ln 1 = 0", "\\frac{1}{2} \\times 6 \\times 8 = 24",
        "f(10) = 2^{11} - 1 = 2048 - 1 = 2047", "1/3 = 0.333", "90^\\circ = 3", "2(3+4) = 14",
        "\\left(\\frac{1}{2}\\right)^2 = 0.25", "5! = 120", "\\binom{5}{2} = 10", "f(2) = 3",
        "\\sum_{k=1}^{3} 2 = 6", "bx - 5 = 0", "2 \\frac{1}{2} = 2.5", "50\\% = 0.5",
        "9^{999999999} = 1", "((((", "1/0 = 3",
    ],
)  # fmt: skip
def test_arithmetic_that_holds_or_is_none_of_our_business(text):
    assert false_equations(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "3 + 4 = 8", "so \\(2 \\cdot 3 = 5\\).", "x = 3 + 4 = 8", "1/3 = 0.34", "2^{10} = 1000",
        "\\[ \\frac{1}{2} \\times 6 \\times 8 = 25 \\]", "Thus -3 + 5 = 3", "12 × 4 = 46 apples",
    ],
)  # fmt: skip
def test_arithmetic_that_does_not_hold(text):
    assert len(false_equations(text)) == 1
