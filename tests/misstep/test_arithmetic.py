import pytest

from misstep.arithmetic import false_equations


@pytest.mark.parametrize(
    "text",
    [
        "so \\(2x + 3 = 5\\)", "a_3 + 4 = 5", "x^2 + 3 = 5", "3 + 4 = 7x",
        "3 + 4 = 2 \\pmod 5", "1 - 1 - \\ln 1 = 0", "\\frac{1}{2} \\times 6 \\times 8 = 24",
        "f(10) = 2^{11} - 1 = 2048 - 1 = 2047", "1/3 = 0.333", "90^\\circ = 3", "2(3+4) = 14",
        "\\left(\\frac{1}{2}\\right)^2 = 0.25", "5! = 120", "\\binom{5}{2} = 10", "f(2) = 3",
        "\\sum_{k=1}^{3} 2 = 6", "bx - 5 = 0", "2 \\frac{1}{2} = 2.5", "50\\% = 0.5",
        "9^{999999999} = 1", "((((", "1/0 = 3", "1:2 = 3:6", "In base 7, 12 = 9", "log 2 = 0.301",
        "the product of 3 and 4 = 12", "f(2) + f(3) = 6f(1)", "That is 5 + 3 = 8!", "1 = 100 cents",
        "3:45 + 0:30 = 4:15", "1 + 1 = 3, a contradiction", "\\sqrt{2} = 1.414", "2/3 = 0.\\bar{6}",
        "17 \\div 5 = 3 \\text{ R } 2", "6x = x", "(2.8284)^2 = 8", "3A = 12\nA = 4",
        "1:2:3 = 2:4:6",
    ],
)  # fmt: skip
def test_arithmetic_that_holds_or_is_none_of_our_business(text):
    assert false_equations(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "3 + 4 = 8", "so \\(2 \\cdot 3 = 5\\).", "x = 3 + 4 = 8", "1/3 = 0.34", "2^{10} = 1000",
        "\\[ \\frac{1}{2} \\times 6 \\times 8 = 25 \\]", "Thus -3 + 5 = 3", "12 × 4 = 46 apples",
        "1-\\frac18=\\frac68", "\\sqrt{16}=5", "3!=5", "\\binom{4}{2}=5", "1{,}000+1=1{,}002",
        "2x+3x=6x",
        "\\sqrt{3} + 4 = 5", "2:4 = 3:7", "\\frac{40}{5} = 3 \\text{ dollars}",
        "3a \\cdot 2a = 5a^2",
    ],
)  # fmt: skip
def test_arithmetic_that_does_not_hold(text):
    assert len(false_equations(text)) == 1
