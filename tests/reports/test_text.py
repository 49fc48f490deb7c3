"""Files for spreadsheets hold no formulas, and numbers stay numbers."""

import csv
import io
import re

from hypothesis import given, strategies as st

from misstep.reports import csv_text

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
