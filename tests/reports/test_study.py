from collections import Counter
from math import isnan
from pathlib import Path

import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.proportion import proportion_confint

from misstep.generator import VERSION
from misstep.reports._samples import SampleRecord, ScoreRecord, finding_of
from misstep.reports._study import (
    DIMENSIONS,
    MANY,
    CriticSample,
    GroupCount,
    dependence,
    group_counts,
)

BY_NAME = {dimension.name: dimension for dimension in DIMENSIONS}


def judged(label, verdict, finding, *, length=9, critic="a", dependants=0):
    sample = SampleRecord(
        id="row",
        target="",
        text="",
        label=label,
        n_steps=length,
        dependants=dependants,
        cluster="row",
        facets={"error_type": "sign"},
        scores={},
        error=None,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        seconds=None,
    )
    answer = None if verdict is None else str(verdict)
    judged = CriticSample(critic, sample, ScoreRecord(0.0, answer))
    assert judged.finding == finding
    return judged


@pytest.mark.parametrize(
    ("verdict", "label", "out_of_range", "finding"),
    [
        (3, 3, False, "exact"),
        (2, 3, False, "early"),
        (5, 3, False, "late"),
        (-1, 3, False, "missed"),
        (-1, -1, False, "right"),
        (0, -1, False, "false_alarm"),
        (99, 3, True, "out_of_range"),
        (99, -1, True, "out_of_range"),
        (None, 3, False, "unread"),
        (None, -1, False, "unread"),
    ],
)
def test_what_a_verdict_is_beside_a_label(verdict, label, out_of_range, finding):
    assert finding_of(verdict, label, out_of_range) == finding


def test_groups_count_exact_hits_of_rows_with_an_error_only():
    table = [
        judged(0, 0, "exact"),
        judged(0, 2, "late"),
        judged(0, None, "unread"),
        judged(8, 8, "exact"),
        judged(-1, 4, "false_alarm"),
    ]
    early, late = group_counts(table, BY_NAME["third"])
    assert (early.group, early.rows, early.counted) == ("early", 3, 1)
    assert (late.group, late.rows, late.counted) == ("late", 1, 1)
    [alarms] = group_counts(table, BY_NAME["false_alarms"])
    assert (alarms.group, alarms.rows, alarms.counted) == (9, 1, 1)


def test_intervals_are_wilsons():
    [cell] = group_counts(
        [judged(2, 2, "exact")] * 7 + [judged(2, 1, "early")] * 13, BY_NAME["step"]
    )
    lower, upper = proportion_confint(7, 20, method="wilson")
    assert (cell.rate.value, cell.rate.lower, cell.rate.upper) == pytest.approx(
        (0.35, lower, upper)
    )


def test_groups_stand_in_their_order():
    table = [judged(1, 1, "exact", dependants=count, length=12) for count in (11, 2, MANY, 0)]
    assert [cell.group for cell in group_counts(table, BY_NAME["dependants"])] == [
        "0",
        "2",
        "6 or more",
    ]
    table = [judged(label, 1, "early", length=12) for label in (11, 2, 9)]
    assert [cell.group for cell in group_counts(table, BY_NAME["step"])] == [2, 9, 11]


def cell(critic, group, hits, rows):
    return GroupCount(critic, "step", group, Counter(exact=hits, late=rows - hits), "exact")


@pytest.mark.parametrize("hits", [(30, 40, 35), (10, 40, 30), (45, 40, 30)])
def test_dependence_is_as_likely_as_by_the_chi_squared_test(hits):
    found = [cell("a", group, count, 60) for group, count in enumerate(hits)]
    expected = chi2_contingency([hits, [60 - count for count in hits]], correction=False).pvalue
    assert dependence(found, "a") == pytest.approx(expected, abs=0.03)


def test_dependence_is_undefined_where_all_rows_were_judged_alike():
    found = [cell("a", 0, 0, 9), cell("a", 1, 0, 9), cell("b", 0, 3, 9)]
    assert isnan(dependence(found, "a"))
    assert isnan(dependence(found, "b"))


def test_the_study_in_the_docs_is_of_this_generator():
    page = Path(__file__).parents[2] / "docs" / "study.md"
    assert f"Rows: generator {VERSION}," in page.read_text(encoding="utf-8")
