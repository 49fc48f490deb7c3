"""Quality control: a good example passes, and every way to spoil it has its name."""

import json

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.forge import (
    AUTOMATIC_CHECKS,
    Example,
    audit,
    check_example,
    compare_final_answer,
    late_start,
)
from misstep.scorers import AnswerComparison, ComparisonOutcome
from tests.forge.good import GOOD, STEPS, WRONG, rewritten, spoilt


def failures(content):
    example = Example.model_validate(content)
    return {one.name for one in check_example(example, compare_final_answer(example))}


def test_a_good_example_passes():
    assert failures(GOOD) == set()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (spoilt(late_fraction=0.25, label=5), "error_in_last_quarter: too_early"),
        (spoilt(label=20), "error_in_last_quarter: step_out_of_range"),
        (
            rewritten(WRONG[0], WRONG[1], STEPS[8], final_answer="101"),
            "different_final_answer: same_answer",
        ),
        (
            rewritten(
                WRONG[0],
                WRONG[1],
                "9. It is \\(\\boxed{\\frac{202}{2}}\\).",
                final_answer="\\frac{202}{2}",
            ),
            "different_final_answer: other_spelling",
        ),
        (spoilt(final_answer="142"), "different_final_answer: not_stated"),
        (
            rewritten(WRONG[0], "8. So.", "9. It is done.", final_answer=None),
            "different_final_answer: no_final_answer",
        ),
        (
            spoilt(answer=None, original_steps=[*STEPS[:8], "9. It is."]),
            "different_final_answer: no_right_answer",
        ),
        (
            rewritten(
                *WRONG[:2],
                "9. It is \\(\\boxed{\\text{some number}}\\).",
                final_answer="\\text{some number}",
            ),
            "different_final_answer: undecided",
        ),
        (spoilt(error_type="sign"), "logical_error_type: unknown_type"),
        (
            rewritten("7. By the law of cosines, \\(c^2 = 25 + 64 - 40 = 59\\).", *WRONG[1:]),
            "logical_error_type: arithmetic_slip",
        ),
        (rewritten(WRONG[2]), "steps_follow_error: missing_steps"),
        (
            rewritten(WRONG[0], "8. So we have \\(\\boxed{101}\\) first.", WRONG[2]),
            "steps_follow_error: falls_back",
        ),
        (rewritten(WRONG[0], STEPS[7], WRONG[2]), "steps_follow_error: falls_back"),
        (
            rewritten(WRONG[0].replace("By", "Mistakenly, by"), *WRONG[1:]),
            "maintains_plausibility: gives_itself_away",
        ),
        (rewritten(WRONG[0] + " [ERROR]", *WRONG[1:]), "maintains_plausibility: gives_itself_away"),
        (
            rewritten(WRONG[0] + " It is so." * 90, *WRONG[1:]),
            "maintains_plausibility: length_out_of_range",
        ),
        (
            rewritten(WRONG[0].replace("\\)", ""), *WRONG[1:]),
            "maintains_plausibility: broken_latex",
        ),
        (
            rewritten(WRONG[0] + " Or \\(\\\\frac{1}{2}\\).", *WRONG[1:]),
            "maintains_plausibility: doubled_escapes",
        ),
        (
            rewritten(WRONG[0] + " Or \frac{1}{2}.", *WRONG[1:]),
            "maintains_plausibility: control_characters",
        ),
        (
            rewritten(WRONG[0].removeprefix("7. "), *WRONG[1:]),
            "maintains_plausibility: style_changed",
        ),
        (spoilt(steps=["1. Let.", *STEPS[1:6], *WRONG]), "minimal: earlier_step_changed"),
        (rewritten("7. " + STEPS[3][3:], *WRONG[1:]), "minimal: error_step_unchanged"),
        (
            rewritten(*WRONG[:2], "9. And.", "10. So.", "11." + WRONG[2][2:]),
            "minimal: too_many_steps",
        ),
        (spoilt(error_steps_1based=[9]), "declared_step: marked_elsewhere"),
        (spoilt(label=7), "declared_step: first_change_elsewhere"),
        (spoilt(label=-1, error_type=None), "minimal: untouched_changed"),
        (spoilt(label=-1, steps=STEPS), "declared_step: untouched_with_type"),
    ],
)
def test_every_way_to_spoil_it_has_its_name(content, name):
    assert name in failures(content)


def test_what_is_not_decided_is_not_accepted():
    example = Example.model_validate(GOOD)
    undecided = AnswerComparison(ComparisonOutcome.UNDECIDED, "too long")
    [failure] = check_example(example, undecided)
    assert failure.name == "different_final_answer: undecided"
    [failure] = check_example(example, None)
    assert failure.reason == "undecided"


def test_an_untouched_solution_passes():
    assert failures(spoilt(label=-1, steps=STEPS, error_type=None, final_answer="101")) == set()


@pytest.mark.parametrize(("steps", "first"), [(8, 6), (9, 6), (10, 7), (12, 9), (25, 18), (32, 24)])
def test_the_last_quarter_starts_at_the_floor(steps, first):
    assert late_start(steps, 0.25) == first


READ_BY_A_PERSON = {
    # The box at the end holds c·d ≤ 1, as in the original; the wrong inequality leads nowhere.
    "155f8223": {"different_final_answer: same_answer", "steps_follow_error: falls_back"},
    # The step that is declared wrong is right, and stands in the original; the next one is wrong.
    # Formulas open with \[ and never close.
    "19631a7f": {"minimal: error_step_unchanged", "maintains_plausibility: broken_latex"},
    # Step 28 is declared, step 27 is marked; neither was changed.
    "1f89a04a": {"declared_step: marked_elsewhere"},
    # It ends in t = 16 without a box, and declares another step than it marks.
    "184c1b25": {"different_final_answer: no_final_answer", "declared_step: marked_elsewhere"},
    # Step 37 of 26 is declared; eight of 34 steps are gone.
    "27f7f48e": {"error_in_last_quarter: step_out_of_range", "steps_follow_error: missing_steps"},
    # The inequality is turned round in one step, and the conclusion is the original's.
    "2779224f": {"different_final_answer: same_answer", "steps_follow_error: falls_back"},
    # Declared is "Hence f'(t) > 0", which is the original's; "decreasing" comes one step later.
    "0f7f07f8": {"minimal: error_step_unchanged"},
    # A Chinese solution was translated as a whole; its own box is empty.
    "1b7b618d": {"minimal: earlier_step_changed", "different_final_answer: no_right_answer"},
    # Nine steps of 26 are left, and step 31 is declared.
    "3a83efb9": {"error_in_last_quarter: step_out_of_range", "steps_follow_error: missing_steps"},
    # "but we incorrectly simplified to bc - bc": it says so itself. 38 steps instead of 25.
    "ae2ff13b": {"maintains_plausibility: gives_itself_away", "minimal: too_many_steps"},
    # "erroneously assuming".
    "fc25d745": {"maintains_plausibility: gives_itself_away"},
    # Step 20 of 27 is declared; the last quarter starts at the 21st.
    "dc224b33": {"error_in_last_quarter: too_early"},
    # A step is shortened, not wrong, and the end is p = 7, as in the original.
    "bd7975b2": {"steps_follow_error: falls_back", "different_final_answer: no_final_answer"},
}


@pytest.fixture(scope="module")
def recorded(real_data):
    file = real_data / "numinamath" / "recorded_injections.jsonl"
    if not file.is_file():
        pytest.skip("the mirror has no recorded injections")
    return audit(str(file))


def test_recorded_injections_are_rejected(recorded):
    assert len(recorded.examples) == 59
    assert recorded.bad == []
    assert len(recorded.failures) >= 0.8 * 59


@pytest.mark.parametrize("name", READ_BY_A_PERSON)
def test_reasons_are_those_that_a_person_finds(recorded, name):
    found = {one.name for one in recorded.failures[f"lb_numinamath_{name}"]}
    assert READ_BY_A_PERSON[name] <= found


def test_the_position_is_the_only_fault_that_a_rule_can_find_in_some(recorded):
    """Even without the demands that all of them fail, four of five are rejected."""
    common = {"minimal", "declared_step", "logical_error_type"}
    rest = [i for i, found in recorded.failures.items() if {one.stage for one in found} - common]
    assert len(rest) >= 0.8 * 59


def test_the_command_prints_a_table_and_its_status_tells(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps(GOOD) + "\n", encoding="utf-8")
    done = CliRunner().invoke(cli, ["forge", "check", str(path)])
    assert done.exit_code == 0
    assert "1 of 1 examples pass every check." in done.output
    rows = [spoilt(id="[bold]", label=7), {"id": "x"}, GOOD, GOOD, spoilt(id="\x1b[31m")]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = CliRunner().invoke(cli, ["forge", "check", str(path), "--details"])
    assert done.exit_code == 1
    assert "first_change_elsewhere" in done.output
    assert "row 2 ('x'): problem: missing" in done.output
    assert "already used by row 3" in done.output
    assert "1 of 5 examples pass every check." in done.output
    assert "is a control character" in done.output
    assert "\x1b[31m" not in done.output
    assert all(name in done.output for name in AUTOMATIC_CHECKS)
