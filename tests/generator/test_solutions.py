import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from random import Random

import pytest

from misstep.generator import ERROR_TYPES, FAMILIES, POSITIONS, VERSION, solutions
from misstep.generator._graph import DeadEndError
from misstep.registry import MisstepError
from misstep.samples import third_of

PINNED = "ba4fea0b0f99259a56d412466d7b172d4d982e510dd3529b32290f699ed90b9a"
"""Of the first rows of seed 7. If this changes, VERSION must change too."""
PINNED_LONG = "77aa8aa5be7f1db40f50f590bfdc0cc8b94528838a00dc893a50e7f9e896011a"
"""Of the first long rows of seed 7. If this changes, VERSION must change too."""


def digest(made):
    rows = json.dumps([one.row() for one in made], sort_keys=True)
    return sha256(rows.encode()).hexdigest()


def test_the_same_seed_gives_the_same_rows_forever():
    assert digest(solutions(7, 130)) == PINNED
    assert digest(solutions(7, 20, difficulty="4,5")) == PINNED_LONG


def test_another_process_makes_the_same_rows_with_nothing_heavy():
    code = (
        "import json, sys; from hashlib import sha256; from misstep.generator import solutions; "
        "rows = json.dumps([one.row() for one in solutions(7, 130)], sort_keys=True); "
        "heavy = {'numpy', 'sympy', 'datasets', 'pyarrow'} & set(sys.modules); "
        "print(sha256(rows.encode()).hexdigest(), *sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [PINNED]


def test_a_row_does_not_depend_on_how_many_there_are():
    assert list(solutions(7, 200))[:20] == list(solutions(7, 20))


def test_other_seeds_give_other_rows():
    assert not {one.problem for one in solutions(1, 200)} & {
        one.problem for one in solutions(2, 200)
    }


def test_ids_carry_version_seed_and_index():
    ids = [one.id for one in solutions(7, 124)]
    assert ids[123] == f"procedural-{VERSION}-7-000123"
    long = next(solutions(7, 1, difficulty=4))
    assert long.id == f"procedural-{VERSION}-7-000000"
    assert long.row()["generator"] == f"misstep.generator {VERSION}"
    assert len(set(ids)) == 124


def test_solutions_are_made_one_by_one():
    many = solutions(7, 10**9)
    assert next(many).id.endswith("000000")


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 1])
def test_the_share_of_correct_solutions_is_kept(share):
    made = list(solutions(7, 64, correct_share=share))
    assert abs(sum(one.label < 0 for one in made) - 64 * share) <= 1


def test_every_family_comes_as_often_as_the_others():
    made = list(solutions(7, 3 * len(FAMILIES)))
    assert all(sum(one.family == name for one in made) == 3 for name in FAMILIES)


@pytest.mark.parametrize("steps", [4, 5, 12, "6-7", "24"])
def test_solutions_have_the_wanted_length(steps):
    low, _, high = str(steps).partition("-")
    wanted = range(int(low), int(high or low) + 1)
    assert {len(one.steps) for one in solutions(7, 150, steps=steps)} == set(wanted)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("position", POSITIONS[1:])
def test_every_error_of_every_family_is_to_be_had_everywhere(family, position):
    for error_type in FAMILIES[family].error_types:
        if not FAMILIES[family].allows(error_type, position):
            continue
        for difficulty in (1, 2, 3):
            [one] = solutions(
                7,
                1,
                families=family,
                error_types=error_type,
                position=position,
                difficulty=difficulty,
                steps="8-14",
                correct_share=0,
            )
            assert one.error_type == error_type
            assert third_of(one.label, len(one.steps)) == position


def test_every_error_type_has_a_family_or_is_in_long_solutions():
    of_families = {kind for family in FAMILIES.values() for kind in family.error_types}
    assert of_families <= set(ERROR_TYPES)
    for kind in set(ERROR_TYPES) - of_families:
        [one] = solutions(7, 1, error_types=kind, difficulty=4, correct_share=0)
        assert one.error_type == kind


def test_long_solutions_have_what_makes_them_hard():
    made = list(solutions(7, 40, difficulty="4,5"))
    assert {one.difficulty for one in made} == {4, 5}
    assert {one.style for one in made} == {"prose", "bullets", "latex", "comments"}
    assert all(40 <= len(one.steps) <= 160 for one in made)
    assert max(len(one.steps) for one in solutions(7, 3, difficulty=5, steps=200)) == 200
    wrong = solutions(7, 60, difficulty="4,5", correct_share=0)
    assert max(one.distance for one in wrong) > 30
    facts = [step.count("\n") + 1 for one in made for step in one.steps]
    assert max(facts) == 4
    assert 1.2 < sum(facts) / len(facts) < 2


def test_nothing_is_subtracted_in_words_from_a_name_that_ends_in_a_number():
    # "events 1 to 2 minus 1" is also events 1 to 1, and "term 4 minus 3" is also term 1.
    for one in solutions(7, 40, difficulty="4,5"):
        for step in one.steps:
            assert not re.search(r"\b(minus|plus) \d", step), step


def test_remarks_about_expected_numbers_do_not_reveal_an_error():
    # The right value is 1. A remark about it would have a fraction only after an error.
    for one in solutions(555001, 11, families="probability", difficulty=4):
        for step in one.steps:
            assert not re.search(r"(adding|subtracting) \d+/\d+", step), step


def test_every_step_has_five_wordings():
    for name, family in FAMILIES.items():
        for frames in {node.frames for node in _built(family).nodes}:
            assert len(frames) >= 5, name


def _built(family):
    random = Random(1)
    while True:
        try:
            return family.build(random, 9, 2)
        except DeadEndError:
            continue


def test_a_row_says_all_that_is_known():
    row = next(solutions(7, 1, correct_share=0)).row()
    assert row["subset"] == row["family"]
    assert row["position"] == row["label"] / (row["length"] - 1)
    known = {"error_type", "dependants", "distance", "decoys", "answer", "difficulty", "style"}
    assert {*known, "final_answer_correct"} <= set(row)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"steps": "3"}, r"steps='3': must be a number from 4 to 24 at difficulty 2"),
        ({"steps": "30", "difficulty": 4}, r"must be a number from 40 to 200 at difficulty 4"),
        ({"steps": "12-6"}, "steps='12-6'"),
        ({"steps": "many"}, "such as 6-12"),
        ({"position": "lat"}, "Unknown position 'lat'. Did you mean 'late'"),
        ({"error_types": "sgn"}, "Unknown error type 'sgn'. Did you mean 'sign'"),
        ({"families": "sortin"}, "Unknown family 'sortin'. Did you mean 'sorting'"),
        ({"families": "sorting", "error_types": "unit"}, "the family 'sorting' has no such errors"),
        ({"difficulty": 6}, r"difficulty=6: allowed are 1, 2, 3 \(short solutions\), 4, 5"),
        ({"difficulty": "2,hard"}, "difficulty='2,hard': allowed are"),
        ({"error_types": "zero_division"}, "long solutions: difficulty=4 or 5"),
        ({"correct_share": 1.5}, "correct_share=1.5: must be a share from 0"),
        ({"n": 0}, "n=0: must be a whole number from 1"),
        ({"seed": -1}, "seed=-1: must be a whole number from 0"),
    ],
)
def test_a_bad_argument_is_named_with_what_is_allowed(arguments, says):
    with pytest.raises(MisstepError, match=says):
        solutions(**{"seed": 0, "n": 1, **arguments})


def test_names_may_be_listed_or_separated_by_commas():
    listed = solutions(7, 40, families=["sorting", "brackets"])
    assert list(listed) == list(solutions(7, 40, families="sorting, brackets"))
