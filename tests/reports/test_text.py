"""Files for spreadsheets hold no formulas, and numbers stay numbers."""

import csv
import io
import re

from hypothesis import given, strategies as st

from misstep.reports import csv_text
from misstep.reports._text import cluster_note
from misstep.scorers import Estimate

cells = st.text() | st.sampled_from(
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "-1", "+0.5", "plain"]
)


@given(st.dictionaries(cells, cells | st.integers() | st.floats(allow_nan=False), min_size=1))
def test_no_cell_is_a_formula(row):
    head, *body = csv.reader(io.StringIO(csv_text([row])), strict=True)
    for cell in head:
        assert cell[:1] not in "=+@\t\r\n-" or cell == "" or is_number(cell)
    for cell, value in zip(next(iter(body), []), row.values(), strict=bool(body)):
        if isinstance(value, str):
            assert cell[:1] not in "=+@\t\r\n-" or cell == "" or is_number(cell)
        else:
            assert cell == str(value)


def is_number(text):
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", text) is not None


def test_labels_of_minus_one_stay_as_they_are():
    assert csv_text([{"label": -1, "answer": "-1", "text": "-1+1"}]).split() == [
        "label,answer,text",
        "-1,-1,'-1+1",
    ]


def test_the_interval_of_independent_samples_is_noted_if_it_differs_by_more_than_a_tenth():
    independent = Estimate(0.5, 0.4, 0.6)
    note = cluster_note("F1", Estimate(0.5, 0.38, 0.62), independent)
    assert note is not None
    assert "F1: samples of one cluster are not independent" in note
    assert "1.20 times as wide as that of independent samples, [40.0, 60.0]" in note
    assert "0.80 times" in str(cluster_note("F1", Estimate(0.5, 0.42, 0.58), independent))
    for close in (Estimate(0.5, 0.392, 0.608), Estimate(0.5, 0.408, 0.592), independent):
        assert cluster_note("F1", close, independent) is None
