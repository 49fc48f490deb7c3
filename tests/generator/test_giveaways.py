"""Nothing but the reasoning tells whether, and where, there is an error."""

from collections import Counter
from statistics import mean

import pytest

from misstep.generator import FAMILIES, solutions
from misstep.samples import third_of
from tests.generator.classifier import accuracy

TRAINED, TESTED = 5000, 2000
MARGIN = 0.05
"""How much better than chance a classifier may be that does not reason."""


@pytest.fixture(scope="module")
def made():
    return list(solutions(11, TRAINED + TESTED))


def text_of(one):
    return "\n".join([one.problem, *one.steps])


def test_words_and_numbers_do_not_tell_error_from_correct(made):
    found, chance = accuracy(list(map(text_of, made)), [one.label >= 0 for one in made], TRAINED)
    print(f"error or correct: {found:.3f}, by chance {chance:.3f}")
    assert found <= chance + MARGIN


def test_words_and_numbers_do_not_tell_where_the_error_is():
    made = list(solutions(12, TRAINED + TESTED, correct_share=0))
    thirds = [third_of(one.label, len(one.steps)) for one in made]
    found, chance = accuracy(list(map(text_of, made)), thirds, TRAINED)
    print(f"third of the error: {found:.3f}, by chance {chance:.3f}")
    assert found <= chance + MARGIN


def test_the_classifier_would_see_a_giveaway(made):
    planted = [
        text_of(one) + (" Hm." if one.label >= 0 and number % 4 < 2 else "")
        for number, one in enumerate(made[:3000])
    ]
    found, chance = accuracy(planted, [one.label >= 0 for one in made[:3000]], 2000)
    assert found > chance + 2 * MARGIN


def test_right_and_wrong_solutions_are_alike(made):
    """Length, decoys, re-checks and families, as many in the one kind as in the other."""
    kinds = [one for one in made if one.label >= 0], [one for one in made if one.label < 0]
    wrong, right = kinds
    assert abs(len(wrong) - len(right)) <= 1
    for measure, off in (
        (lambda one: len(one.steps), 0.15),
        (lambda one: one.decoys, 0.06),
        (lambda one: sum("once more" in step or "again." in step for step in one.steps), 0.04),
        (lambda one: len("".join(one.steps)), 15),
    ):
        assert mean(map(measure, wrong)) == pytest.approx(mean(map(measure, right)), abs=off)
    counts = [Counter(one.family for one in kind) for kind in kinds]
    for family in FAMILIES:
        assert counts[0][family] == pytest.approx(counts[1][family], rel=0.25)


def test_errors_stand_anywhere():
    made = list(solutions(3, 2000, correct_share=0))
    thirds = Counter(third_of(one.label, len(one.steps)) for one in made)
    assert min(thirds.values()) > 0.27 * len(made)
    assert {one.label for one in made if len(one.steps) == 8} == set(range(8))
