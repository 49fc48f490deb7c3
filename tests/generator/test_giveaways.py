"""Nothing but the reasoning tells whether, and where, there is an error."""

from collections import Counter
from dataclasses import replace
from statistics import mean

import pytest

from misstep.generator import FAMILIES, solutions
from misstep.samples import third_of
from tests.generator.checked import calculated
from tests.generator.classifier import Look

TRAINED, TESTED = 5000, 5000
MARGIN = 0.03
"""How much better than chance a classifier may be that does not reason."""
BY_CALCULATOR = 0.15
"""The largest share of errors of long solutions that a calculator may find."""


@pytest.fixture(scope="module")
def made():
    return list(solutions(11, TRAINED + TESTED))


@pytest.fixture(scope="module")
def look(made):
    return Look(made)


def test_words_and_lengths_do_not_tell_error_from_correct(look):
    found, chance = look.error_or_correct(TRAINED)
    print(f"error or correct: {found:.3f}, by chance {chance:.3f}")
    assert found <= chance + MARGIN


def test_words_lengths_and_positions_do_not_find_the_wrong_step(look):
    found, chance = look.wrong_step(TRAINED)
    print(f"wrong step: {found:.3f}, by chance {chance:.3f}")
    assert found <= chance + MARGIN


def test_no_simple_rule_finds_the_wrong_step(look):
    found, chance = look.rules(TRAINED)
    for name, share in found.items():
        assert share <= chance + MARGIN, name


def test_the_classifier_would_see_a_giveaway(made):
    def planted(one, number):
        if one.label < 0 or number % 4 > 1:
            return one
        steps = [*one.steps]
        steps[one.label] += " Hm."
        return replace(one, steps=steps)

    look = Look([planted(one, number) for number, one in enumerate(made[:800])])
    for found, chance in (look.error_or_correct(400), look.wrong_step(400)):
        assert found > chance + 3 * MARGIN


def test_a_calculator_and_words_find_few_errors_of_long_solutions():
    """A small part of `python -m tests.generator.checked`: only a large hint would be seen here."""
    rows = list(solutions(13, 240, difficulty=4))
    assert mean(calculated(rows).values()) <= BY_CALCULATOR
    look = Look(rows)
    for found, chance in (look.error_or_correct(120), look.wrong_step(120)):
        assert found <= chance + 4 * MARGIN


def test_right_and_wrong_solutions_are_alike(made):
    """Length, decoys, re-checks and families, as many in the one kind as in the other."""
    kinds = [one for one in made if one.label >= 0], [one for one in made if one.label < 0]
    wrong, right = kinds
    assert abs(len(wrong) - len(right)) <= 1
    for measure, off in (
        (lambda one: len(one.steps), 0.15),
        (lambda one: one.decoys, 0.06),
        (lambda one: sum("earlier result" in step for step in one.steps), 0.04),
        (lambda one: len("".join(one.steps)), 15),
    ):
        assert mean(map(measure, wrong)) == pytest.approx(mean(map(measure, right)), abs=off)
    counts = [Counter(one.family for one in kind) for kind in kinds]
    for family in FAMILIES:
        both = counts[0][family] + counts[1][family]
        assert counts[0][family] == pytest.approx(both / 2, abs=2 * both**0.5)  # 4 deviations


def test_errors_stand_anywhere():
    made = list(solutions(3, 2000, correct_share=0))
    thirds = Counter(third_of(one.label, len(one.steps)) for one in made)
    assert min(thirds.values()) > 0.27 * len(made)
    assert {one.label for one in made if len(one.steps) == 8} == set(range(8))


def test_every_error_type_happens_where_it_is_said_to(made):
    seen = {(one.family, one.error_type) for one in made if one.error_type}
    said = {(name, kind) for name, family in FAMILIES.items() for kind in family.error_types}
    assert seen == said
