"""Steps of worked solutions: nothing is lost, no formula is cut, the structure is found."""

import json
import re

import pytest
from hypothesis import given, strategies as st

from misstep.forge import Structure, split_solution

PIECES = st.sampled_from(
    [
        *"\n $aé\\",
        *("\n\n", "1. ", "2) ", "# H\n", "**b**\n", "Zz. ", "\\[", "\\]", "$$", "```"),
        *("\\begin{a}", "\\end{a}", "\\\\", "\\(", "\\)", "- ", "Step 3 "),
    ]
)


def split_steps(text):
    return split_solution(text).steps


@pytest.fixture(scope="module")
def solutions(real_data):
    file = real_data / "numinamath" / "numinamath_cot.jsonl"
    if not file.is_file():
        pytest.skip("the mirror has no NuminaMath rows")
    return [json.loads(line)["solution"] for line in file.open(encoding="utf-8")]


def test_real_solutions_lose_nothing_and_have_steps(solutions):
    steps = [split_steps(solution) for solution in solutions]
    assert ["".join(cut) for cut in steps] == solutions
    assert sum(len(cut) >= 8 for cut in steps) >= 55
    assert all(step.strip() for cut in steps for step in cut)


def test_no_display_formula_of_a_real_solution_is_cut(solutions):
    # Written again: formulas by patterns that know nothing of the splitter.
    display = re.compile(
        r"(?<!\\)\\\[.*?(?<!\\)\\\]|\$\$.*?\$\$|\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.DOTALL
    )
    formulas = 0
    for solution in solutions:
        place, cuts = 0, set()
        for step in split_steps(solution):
            place += len(step)
            cuts.add(place)
        for formula in display.finditer(solution):
            formulas += 1
            assert not any(formula.start() < cut < formula.end() for cut in cuts)
    assert formulas > 500


@given(st.lists(PIECES, max_size=60).map("".join))
def test_joined_steps_are_the_text(text):
    assert "".join(split_steps(text)) == text


@pytest.mark.parametrize(
    ("text", "structure", "steps"),
    [
        ("1. One.\n   \\[\n   1. x\n   \\]\n2. Two.\n3. Three.\n4. Four.", Structure.NUMBERED, 4),
        ("Intro.\n\n1. One.\n\nStill at it.\n\n2. Two.\n3. Three.", Structure.NUMBERED, 5),
        ("**Step 1:** a\n**Step 2:** b\n**Step 3:** c\n**Step 4:** d", Structure.NUMBERED, 4),
        ("First.\n\nThen\n\\[x\\]\n\nwhere x is y.\n\nSo.\n\nEnd.", Structure.PARAGRAPHS, 4),
        ("## A\n\nOne.\n\n## B\n\nTwo.\n\n**C**\n\nThree.\n\nFour.", Structure.PARAGRAPHS, 4),
        ("One is 1.\nTwo is 2.\nThree is 3.\nFour is 4.", Structure.LINES, 4),
        ("We add. Then $a. B$ holds, e.g. here. It is 5.7 large. Done.", Structure.SENTENCES, 4),
        ("All of it in one go without an end", Structure.BLOCK, 1),
    ],
)
def test_the_structure_that_is_there(text, structure, steps):
    cut = split_solution(text)
    assert "".join(cut.steps) == text
    assert (cut.structure, len(cut.steps)) == (structure, steps)


def test_a_heading_goes_with_what_it_heads():
    steps = split_steps("#### Part (a)\n\n1. One.\n2. Two.\n#### Part (b)\n1. Three.\n2. Four.")
    assert steps[0] == "#### Part (a)\n\n1. One.\n"
    assert steps[2] == "#### Part (b)\n1. Three.\n"


@pytest.mark.parametrize(
    "text",
    [
        "A.\n\n\\begin{align}\nx\n\n1. y\n\\begin{align}z\\end{align}\n\n2. w\n\\end{align}\n\nB.",
        "A.\n\n$$\nx\n\n1. y\n$$\n\nB.",
        "A.\n\n\\[ a \\\\[2pt]\n\n1. b \\]\n\nB.",
        "A.\n\n```\n1. code\n\n2. code\n```\n\nB.",
        "A.\n\n[asy]\n1. code\n\n2. code\n[/asy]\n\nB.",
    ],
)
def test_what_latex_keeps_together_stays_together(text):
    assert not any(step.lstrip().startswith(("1.", "2.")) for step in split_steps(text))


def test_a_formula_that_never_closes_hides_nothing():
    assert len(split_steps("1. \\[ x\n2. y\n3. \\begin{a} z\n4. w\n5. $$")) == 5


@pytest.mark.parametrize(
    "unit",
    ["\n", "\\[", "\\begin{a}", "\\(", "A. $5\n\n", "\n**", "\n1. x", "\\", "\\\\]", " ", "```"],
)
def test_time_is_linear_whatever_the_text(unit):
    """Steps of the interpreter, counted, so that no clock decides."""
    import sys

    def work(size):
        count = 0

        def counting(*_):
            nonlocal count
            count += 1
            return counting

        before = sys.gettrace()
        sys.settrace(counting)
        try:
            split_steps("A.\n" + unit * size)
        finally:
            sys.settrace(before)
        return count

    assert work(1000) <= 2.5 * work(500) + 1000
