"""Ten thousand solutions, computed again by a checker that shares nothing with the generator."""

from collections import Counter

import pytest

from misstep.generator import FAMILIES
from tests.generator.checker import AGAIN, ANSWER, equation_holds, value_of, wrong_steps
from tests.generator.checker_continues import FAMILIES as CONTINUED, continued
from tests.generator.checker_follows import follows

DECIDED = 0.95
"""The share of solutions that the checker must be able to decide completely."""


@pytest.fixture(scope="module")
def checked(many):
    """Every solution with what the checker says of it."""
    return [(one, *wrong_steps(one.family, one.problem, one.steps)) for one in many]


def decided(one, wrong):
    """Whether the checker has a verdict on every step up to the label."""
    return None not in (wrong if one.label < 0 else wrong[: one.label + 1])


def test_the_checker_finds_exactly_the_labels(checked):
    known = [(one, wrong) for one, wrong, *_ in checked if decided(one, wrong)]
    assert len(known) >= DECIDED * len(checked)
    for one, wrong in known:
        first = wrong.index(True) if True in wrong else -1
        assert first == one.label, (one.id, one.family, one.error_type, one.steps)


def test_the_answers_are_right_and_stated_as_said(checked):
    for one, _, _, answer, stated in checked:
        assert answer == one.answer, one.id
        assert (stated == answer) is one.final_answer_correct, one.id


def test_the_corrected_solutions_are_right_throughout(many):
    for one in many[::5]:
        wrong, _, answer, stated = wrong_steps(one.family, one.problem, one.correct_steps)
        assert True not in wrong, (one.id, one.correct_steps)
        assert stated == answer


def test_whatever_follows_an_error_is_consistent_with_it(checked):
    for one, _, holds, *_ in checked:
        if one.label >= 0:
            broken = sum(hold is False for hold in holds[one.label + 1 :])
            # The second of two errors that cancel out is the one equation that may not hold.
            assert broken <= (one.outcome == "cancelled"), (one.id, one.steps)


def test_lists_and_stacks_follow_from_those_before(many):
    seen = Counter()
    for one in many:
        plain = [ANSWER.sub("", step) for step in one.steps]
        rest = [step for step in plain if not AGAIN.match(step)]
        place = rest.index(plain[one.label]) if one.label >= 0 else -1
        if one.outcome == "corrected":
            continue
        for index in range(1, len(rest)):
            if index != place:
                follow = follows(one.family, rest[index - 1], rest[index])
                assert follow is not False, (one.id, rest[index])
                seen[follow] += 1
    assert seen[True] > 1000


def test_programs_holdings_and_guests_follow_from_what_was_stated_before(many):
    seen = Counter()
    for one in many:
        if one.family in CONTINUED:
            followed = continued(one.family, one.problem, one.steps)
            broken = [index for index, follows in enumerate(followed) if not follows]
            # The error itself does not follow, nor does a second one that cancels it out.
            second = broken[1:] if one.label >= 0 else broken
            assert broken[:1] == ([one.label] if one.label >= 0 else []), (one.id, one.steps)
            assert len(second) <= (one.outcome == "cancelled"), (one.id, second, one.steps)
            seen[one.family, one.outcome] += 1
    for family in CONTINUED:
        assert seen[family, "plain"] > 100
        assert seen[family, "corrected"] > 10


@pytest.mark.parametrize("family", list(CONTINUED))
def test_a_right_step_after_a_wrong_one_is_noticed_not_to_follow(many, family):
    noticed = []
    for one in many:
        if one.family != family or one.outcome != "plain":
            continue
        pairs = enumerate(zip(one.steps, one.correct_steps, strict=True))
        changed = [i for i, (a, b) in pairs if i > one.label and a != b and not AGAIN.match(a)]
        for index in changed[:1]:
            steps = [*one.steps[:index], one.correct_steps[index], *one.steps[index + 1 :]]
            noticed.append(not continued(family, one.problem, steps)[index])
    assert len(noticed) > 50
    assert all(noticed)


def test_an_error_changes_the_step_and_nothing_before_it(many):
    for one in many:
        if one.label < 0:
            assert one.steps == one.correct_steps
            continue
        assert one.steps[: one.label] == one.correct_steps[: one.label]
        assert one.steps[one.label] != one.correct_steps[one.label]
        changed = sum(a != b for a, b in zip(one.steps, one.correct_steps, strict=True)) - 1
        # A step may depend on what its text does not show, such as which of two is greater.
        assert changed <= one.dependants < len(one.steps) - one.label


def test_every_error_type_happens_where_it_is_said_to(many):
    seen = {(one.family, one.error_type) for one in many if one.error_type}
    said = {(name, kind) for name, family in FAMILIES.items() for kind in family.error_types}
    assert seen == said


@pytest.mark.parametrize(
    ("text", "value"),
    [("12 + 7 - 1", 18), ("8 × (-9)", -72), ("min(3, 2)", 2), ("7/4 × 2", 3.5), ("9 ÷ 2 - 1", 3.5)],
)
def test_the_checker_computes(text, value):
    assert value_of(text) == value
    assert equation_holds(f"So it: {text} = {value}.") is True
    assert equation_holds(f"So it: {text} = {value + 1}.") is False
