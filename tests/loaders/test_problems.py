"""Problems with answers: published sets, the user's own, generated ones."""

import json
from fractions import Fraction

import pytest

from misstep.loaders import problems_dataset
from misstep.registry import MisstepError


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_published_sets_are_read_as_they_are(real_data):
    data = problems_dataset("math500,amc23,aime24")
    counts = {}
    for sample in data:
        counts[sample.metadata["subset"]] = counts.get(sample.metadata["subset"], 0) + 1
    assert counts == {"math500": 500, "amc23": 40, "aime24": 30}
    assert len({sample.id for sample in data}) == 570
    lines = (real_data / "math" / "amc23.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    [sample] = [sample for sample in data if sample.id == "amc23-0"]
    assert (sample.input, sample.target) == (first["problem"], "27")
    assert "solution" not in sample.metadata


def test_generated_problems_have_numbers_for_answers():
    data = problems_dataset("sample")
    assert len(data) >= 50
    assert len({sample.metadata["family"] for sample in data}) == 8
    for sample in data:
        Fraction(str(sample.target))
    assert [s.input for s in data] == [s.input for s in problems_dataset("sample")]


def test_answers_come_in_many_forms(tmp_path):
    rows = [
        {"question": "a", "answer": "So 1,000 + 18 = 1018.\n#### 1,018"},
        {"problem": "b", "final_answer": ["3"], "answer": None},
        {"problem": "c", "answer": 0.5, "id": "mine", "subset": "own"},
        {"problem": "d", "answer": 7},
    ]
    data = problems_dataset(write(tmp_path / "mine.jsonl", rows))
    assert [sample.target for sample in data] == ["1018", "3", "0.5", "7"]
    assert [sample.id for sample in data] == ["mine-0", "mine-1", "mine", "mine-3"]
    assert [s.metadata["subset"] for s in data] == ["mine", "mine", "own", "mine"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"problem": "a"}], "row 1: final_answer: missing"),
        ([{"problem": "", "answer": "1"}], "row 1: problem: empty"),
        ([{"problem": "a", "answer": ""}], "empty"),
        ([[1]], "row 1: a list, not an object"),
        (
            [{"problem": "a", "answer": "1", "id": "x"}] * 2,
            r"row 2 \('x'\): id: already used by row 1",
        ),
        ([], "holds no rows"),
    ],
)
def test_a_bad_row_is_named(tmp_path, rows, says):
    with pytest.raises(MisstepError, match=says):
        problems_dataset(write(tmp_path / "mine.jsonl", rows))


def test_a_changed_set_is_refused_with_both_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    (tmp_path / "math").mkdir()
    write(tmp_path / "math" / "aime24.jsonl", [{"problem": "a", "answer": 1}])
    with pytest.raises(MisstepError, match=r"expected 30 rows\n.*found    1 rows"):
        problems_dataset("aime24")
