import json
from hashlib import sha256

import pytest

from misstep.loaders import check_rows, error_sections_dataset, first_error_dataset, load_rows
from misstep.registry import DataError
from tests.support.rows import delta_row

# By hand, from the published rows: sections, label, error sections, and how the first and the last
# section begin and end.
KNOWN = {
    "f11c7a6bbf5754fee116b638d99a33a6": (34, 6, [7], "Let's tackle", "\\boxed{29}"),
    "676adb9206bdd7cd09a9a20abec112da": (13, 6, [7], "Let's tackle", "to ensure that."),
    "15b7ef6c3f5ca4ec9900c20e585c7e15": (26, 13, [14], "Alright, so", "1,000,000 is 10."),
    "17af0b1210d442d79a4a9a512102eab0": (15, 1, [2], "So i'm trying", "\\boxed{10}"),
    "d5bbdb2d68e9123f5953cd893bdbc7cc": (38, 15, [16], "So i've got", "\\boxed{1000000}"),
    "869cb794265bf3b61c121e9cba8e7b01": (20, 1, [2, 18], "Let's tackle", "\\boxed{0}"),
    "0e6edffc986c155d78e80be684cc7582": (17, 1, [2], "So i have", "too broad."),
}


@pytest.fixture(scope="module")
def published(real_data):
    path = real_data / "deltabench" / "Deltabench_v1.jsonl"
    if not path.is_file():
        pytest.skip("the mirror has no rows of DeltaBench")
    return path


def rows_of(*contents):
    rows, bad = check_rows(enumerate(contents, start=1))
    assert not bad, bad
    return rows


def row_of(content):
    return rows_of(content)[0]


def test_the_published_rows_are_converted_as_by_hand(published):
    rows = load_rows(str(published))
    assert [row.id for row in rows] == list(KNOWN)
    for row in rows:
        sections, label, errors, begins, ends = KNOWN[row.id]
        assert (len(row.steps), row.label) == (sections, label)
        assert row.extra["gold_sections"] == errors
        assert row.steps[0].startswith(begins)
        assert row.steps[-1].endswith(ends)
        assert (row.subset, row.extra["task_l2"]) == ("math", "Number Theory")
        assert "annotation_problems" not in row.extra
        assert not {"long_cot", "sections", "solution"} & row.extra.keys()


def test_the_published_texts_are_the_same_whichever_field_they_are_read_from(published):
    for line in published.read_text(encoding="utf-8").splitlines():
        content = json.loads(line)
        steps = row_of(content).steps
        bare = [{k: v for k, v in part.items() if k != "content"} for part in content["sections"]]
        assert row_of(content | {"sections": bare}).steps == steps
        printed = {
            name: repr(value) if isinstance(value, list) else value
            for name, value in content.items()
        }
        again = row_of(printed)
        assert (again.steps, again.label) == (steps, row_of(content).label)


def test_a_copy_with_another_number_of_rows_stops_and_can_be_accepted(published, caplog):
    with pytest.raises(DataError, match="expected 1,236 rows\n  found    7 rows") as caught:
        load_rows("deltabench")
    accept = sha256(published.read_bytes()).hexdigest()
    assert f"-T accept={accept}" in str(caught.value)
    dataset = first_error_dataset("deltabench", accept=accept)
    assert [sample.target for sample in dataset] == [str(x[1]) for x in KNOWN.values()]
    assert "No row has no error" in caplog.text
    with pytest.raises(DataError, match="found    7 rows"):
        load_rows("deltabench", accept="0" * 64)


@pytest.mark.parametrize(
    ("errors", "label"), [([], -1), ([2], 1), ([3, 1], 0), ("[3, 2]", 1), (["2", 3.0], 1)]
)
def test_the_label_is_the_smallest_error_section_less_one(errors, label):
    assert row_of(delta_row() | {"reason_error_section_numbers": errors}).label == label


def test_gold_is_error_and_unuseful_sections_together():
    row = row_of(delta_row(errors=[3], unuseful=[2, 3]))
    assert (row.label, row.extra["gold_sections"]) == (2, [2, 3])


def test_the_older_spelling_of_the_fields():
    content = delta_row(errors=[2])
    content["section_content"] = content.pop("sections_content")
    content["error_section_numbers"] = content.pop("reason_error_section_numbers")
    content["idea_error_section_numbers"] = content.pop("reason_unuseful_section_numbers")
    content["sections"] = [{"section": part["content"]} for part in content["sections"]]
    assert row_of(content).steps == ["First.", "Second.", "Third."]
    assert row_of(content).label == 1


def test_markers_inside_a_section_do_not_cut_it():
    texts = ("As section 3: says", "see section2: and\nsection 1: too", "End")
    content = delta_row(texts=texts)
    del content["sections"]
    assert row_of(content).steps == list(texts)


def test_without_any_text_the_paragraphs_that_sections_name_are_taken():
    content = delta_row(texts=("a", "b", "c"), errors=[2])
    content["sections"] = [{"start": 1, "end": 2}, {"start": 3, "end": 3}]
    del content["sections_content"]
    assert row_of(content).steps == ["a\n\nb", "c"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"question": ""}, "question: empty"),
        ({"reason_error_section_numbers": None}, "reason_error_section_numbers"),
        ({"reason_error_section_numbers": "[__import__('os').getcwd()]"}, "a valid list"),
        ({"reason_error_section_numbers": "[" * 9999}, "a valid list"),
        ({"sections": [], "sections_content": "no markers"}, "steps: empty"),
    ],
)
def test_a_bad_row_is_named_with_its_field(change, says):
    rows, [problem] = check_rows([(1, delta_row() | change)])
    assert rows == []
    assert says in str(problem)
    assert "row 1 ('d-0')" in str(problem)


def test_a_printed_list_that_is_too_long_is_not_parsed(monkeypatch):
    from misstep.loaders import _rows

    monkeypatch.setattr(_rows, "_MAX_PRINTED", 5)
    assert _rows.printed_list("['a', 'b']") == "['a', 'b']"
    assert _rows.printed_list("['a']") == ["a"]


MISFITS = [
    ([4], 3, [], [4]),  # beyond the last section: no verdict in the solution matches
    ([0], 3, [], [0]),
    ([0, 2], 1, [2], [0, 2]),
    (["x"], 3, [], None),
    ([2, "x", 9], 1, [2], [2, 9]),
    ([1.5], 3, [], None),
]


@pytest.mark.parametrize(("errors", "label", "gold", "published_gold"), MISFITS)
def test_annotations_that_do_not_fit_are_kept_and_flagged(errors, label, gold, published_gold):
    row = row_of(delta_row(errors=errors))
    assert (row.label, row.extra["gold_sections"]) == (label, gold)
    assert row.extra.get("gold_sections_published") == published_gold
    assert row.extra["annotation_problems"]


def test_misfits_are_warned_of_once_and_can_be_left_out(tmp_path, caplog):
    contents = [delta_row(f"d-{i}", errors=misfit[0]) for i, misfit in enumerate(MISFITS)]
    path = tmp_path / "rows.jsonl"
    good = delta_row("good", errors=[1])
    path.write_text("\n".join(map(json.dumps, [*contents, good])), encoding="utf-8")
    assert len(first_error_dataset(str(path))) == 7
    [warning] = [r.getMessage() for r in caplog.records if "annotations" in r.getMessage()]
    assert "6 of 7 rows" in warning
    assert "d-0, d-1" in warning
    dataset = error_sections_dataset(str(path), exclude_misfits=True)
    assert [(sample.id, sample.target) for sample in dataset] == [("good", "1")]


def test_rows_with_a_first_error_alone_are_refused_for_all_sections(own_file):
    with pytest.raises(DataError, match=r"the row 'a' holds worked solutions with their first"):
        error_sections_dataset(str(own_file))
