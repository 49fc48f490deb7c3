import json
import os
import subprocess
import sys
from hashlib import sha256

import pytest

from misstep.generator import ERROR_TYPES, FAMILIES, POSITIONS, VERSION, solutions
from misstep.registry import MisstepError
from misstep.samples import third_of

PINNED = "815ef75e49fbc13b1a281c7dead16b503e606e44b7b99bb454a0672e334d4bfe"
"""Of the first rows of seed 7. If this changes, VERSION must change too."""


def digest(made):
    rows = json.dumps([one.row() for one in made], sort_keys=True)
    return sha256(rows.encode()).hexdigest()


def test_the_same_seed_gives_the_same_rows_forever():
    assert digest(solutions(7, 130)) == PINNED


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


def test_every_error_type_has_a_family():
    assert {kind for family in FAMILIES.values() for kind in family.error_types} == set(ERROR_TYPES)


def test_a_row_says_all_that_is_known():
    row = next(solutions(7, 1, correct_share=0)).row()
    assert row["subset"] == row["family"]
    assert row["position"] == row["label"] / (row["length"] - 1)
    assert {"error_type", "dependants", "decoys", "answer", "final_answer_correct"} <= set(row)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"steps": "3"}, r"steps='3': must be a number from 4 to 24"),
        ({"steps": "12-6"}, "steps='12-6'"),
        ({"steps": "many"}, "such as 6-12"),
        ({"position": "lat"}, "Unknown position 'lat'. Did you mean 'late'"),
        ({"error_types": "sgn"}, "Unknown error type 'sgn'. Did you mean 'sign'"),
        ({"families": "sortin"}, "Unknown family 'sortin'. Did you mean 'sorting'"),
        ({"families": "sorting", "error_types": "unit"}, "the family 'sorting' has no such errors"),
        ({"difficulty": 4}, "difficulty=4: allowed are 1, 2 and 3"),
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
