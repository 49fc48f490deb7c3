import json

import pytest

from misstep.loaders import check_file, check_rows, first_error_dataset, load_rows
from misstep.registry import DataError, UnknownNameError
from misstep.samples import problem_cluster


def write(tmp_path, name, rows):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_row_becomes_a_sample(own_file):
    sample, _, last = first_error_dataset(str(own_file))
    assert (sample.id, sample.input, sample.target) == ("a", "1 + 1?", "0")
    assert sample.metadata == {
        "label": 0,
        "has_error": True,
        "subset": "sums",
        "cluster": problem_cluster("1 + 1?"),
        "generator": None,
        "steps": ["1 + 1 = 3."],
        "n_steps": 1,
    }
    assert last.metadata["label"] == 2


def test_what_else_a_row_holds_goes_to_metadata(own_file):
    assert first_error_dataset(str(own_file))[1].metadata["note"] == "x"


@pytest.mark.parametrize(("label", "read"), [(1, 1), ("1", 1), (1.0, 1), ("1.0", 1), (" -1", -1)])
def test_integral_labels_are_read(tmp_path, label, read):
    path = write(tmp_path, "x.jsonl", [{"problem": "p", "steps": ["a", "b"], "label": label}])
    assert load_rows(path)[0].label == read


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": 1.5}, "label: expected a whole number"),
        ({"label": True}, "label: expected a whole number"),
        ({"label": None}, "label: expected a whole number"),
        ({"label": "first"}, "label: expected a whole number"),
        ({"label": float("nan")}, "label: expected a whole number"),
        ({"label": float("inf")}, "label: expected a whole number"),
        ({"label": 2}, "label: 2 is beyond its 2 steps; labels are -1 or 0 to 1"),
        ({"label": -2}, "label: -2 is below -1; labels are -1 or 0 to 1"),
        ({"steps": []}, "steps: empty"),
        ({"steps": "a b"}, "steps: expected a valid list"),
        ({"steps": ["a", 3]}, r"steps\[1\]: expected a valid string"),
        ({"problem": ""}, "problem: empty"),
        ({"problem": 7}, "problem: expected a valid string"),
        ({"id": ""}, "id: empty"),
        ({"id": True}, "id: expected a valid string"),
    ],
)
def test_a_bad_row_is_named_with_its_field(tmp_path, change, says):
    row = {"id": "q", "problem": "p", "steps": ["a", "b"], "label": 0} | change
    path = write(tmp_path, "x.jsonl", [row])
    with pytest.raises(DataError, match=says) as caught:
        first_error_dataset(path)
    assert "row 1" in str(caught.value)


def test_missing_fields_are_named(tmp_path):
    path = write(tmp_path, "x.jsonl", [{"id": "q"}])
    _, bad = check_file(path)
    assert [(b.field, b.problem) for b in bad] == [
        ("problem", "missing"),
        ("steps", "missing"),
        ("label", "missing"),
    ]


def test_every_bad_row_is_told_at_once(tmp_path, own_rows):
    rows = [*own_rows, {"id": "d"}, [1], own_rows[0]]
    good, bad = check_file(write(tmp_path, "x.jsonl", rows))
    assert len(good) == 3
    assert {b.number for b in bad} == {4, 5, 6}
    assert str(bad[-1]) == "row 6 ('a'): id: already used by row 1"


def test_a_long_list_of_bad_rows_is_cut_with_the_way_to_see_all(tmp_path):
    path = write(tmp_path, "x.jsonl", [{"id": str(i)} for i in range(9)])
    with pytest.raises(DataError, match="and 22 more: `misstep data check"):
        first_error_dataset(path)


def test_rows_without_an_id_are_named_by_their_number(tmp_path):
    row = {"problem": "p", "steps": ["a"], "label": 0}
    assert [r.id for r in load_rows(write(tmp_path, "x.jsonl", [row, row]))] == ["row-1", "row-2"]


def test_integer_ids_become_text(real_data):
    rows = load_rows(str(real_data / "mr_gsm8k" / "mr_gsm8k_sample.jsonl"))
    assert len(rows) == 500
    assert rows[0].id == "0"


def test_one_subset_of_ones_own_file(own_file):
    assert [s.id for s in first_error_dataset(str(own_file), "sums")] == ["a"]
    with pytest.raises(UnknownNameError, match="Did you mean 'sums'"):
        first_error_dataset(str(own_file), "sum")


def test_a_set_without_errors_is_warned_of(tmp_path, caplog):
    first_error_dataset(write(tmp_path, "x.jsonl", [{"problem": "p", "steps": ["a"], "label": -1}]))
    assert "No row has an error: error_accuracy and f1_score are undefined" in caplog.text


def test_steps_with_terminal_escapes_come_through_and_do_not_reach_the_terminal(tmp_path):
    row = {"id": "a", "problem": "\x1b[2J", "steps": ["\x1b]0;x\x07"], "label": 0}
    [sample] = first_error_dataset(write(tmp_path, "x.jsonl", [row]))
    assert sample.metadata["steps"] == ["\x1b]0;x\x07"]
    with pytest.raises(DataError) as caught:
        first_error_dataset(write(tmp_path, "y.jsonl", [row | {"id": "\x1b[31m"}]))
    assert "\x1b" not in str(caught.value)
    assert "\x1b" not in str(caught.value.message)


@pytest.mark.parametrize(
    ("correctness", "step", "label", "problem"),
    [
        ("wrong", 2, 1, None),
        ("Wrong", "2", 1, None),
        ("correct", "N/A", -1, None),
        ("wrong", "N/A", 3, "no step is 'N/A'"),
        ("wrong", 4, 3, "no step is '4'"),
    ],
)
def test_a_marked_row_whose_first_error_is_no_step_is_kept_and_flagged(
    correctness, step, label, problem
):
    content = {
        "uuid": "a-b",
        "question": "?",
        "model_output_steps": ["Step 1: a", "Step 2: b", "Step 3: c"],
        "model_output_solution_correctness": correctness,
        "model_output_solution_first_error_step": step,
    }
    [row], bad = check_rows([(1, content)])
    assert not bad
    assert (row.label, row.extra.get("label_problem")) == (label, problem)


def test_odd_rows_of_mr_ben_are_kept():
    """As seen in its files, or close to it: numbers, capitals, lists with a gap."""
    content = {
        "Question_UUID": "32fa233f-1",
        "Subject": "college_biology",
        "Question": "?",
        "Options": "A: 1 \nB: 2",
        "Model_Solution_Steps": ["intro", "Step 1: a", "", "**Step 2**: b", "Solution: A"],
        "Model_Solution_Correctness": "Incorrect",
        "Model_Solution_First_Error_Step": 2,
        "Model_Solution_Error_Reason": ["r\n", None],
    }
    [row], bad = check_rows([(1, content)])
    assert not bad
    assert (row.label, row.steps[2]) == (2, "**Step 2**: b\nSolution: A")
    changes = {"Options": ["A: 1", "B: 2"], "Model_Solution_First_Error_Step": None}
    [row], bad = check_rows([(1, content | changes)])
    assert not bad
    # The published prompt prints the options as Python does.
    assert row.extra["options"] == "['A: 1', 'B: 2']"
    assert (row.label, row.extra["label_problem"]) == (len(row.steps), "no step is named")


@pytest.mark.parametrize("steps", [[2, 9], ["2", " 9"], [2.0, 9.0], "[2, 9]"])
def test_the_wrong_steps_of_prmbench_may_be_texts_of_numbers(steps):
    content = {"idx": "p_1", "classification": "circular", "modified_question": "?"}
    content |= {"modified_process": ["a", "", "c"], "error_steps": steps}
    [row], bad = check_rows([(1, content)])
    assert not bad
    assert (row.label, row.extra["wrong_steps"]) == (1, [1])
    _, [problem] = check_rows([(1, content | {"error_steps": [2.5]})])
    assert "error_steps[0]: expected a whole number" in str(problem)


@pytest.mark.parametrize(("index", "label"), [(None, -1), (1, 1), ("1", 1), (1.0, 1)])
def test_the_index_of_a_mistake_is_not_rounded(index, label):
    content = {"task": "sorting", "input": "?", "steps": ["a", "b", "c"], "target": "t"}
    [row], bad = check_rows([(1, content | {"mistake_index": index})])
    assert not bad
    assert row.label == label
    _, [problem] = check_rows([(1, content | {"mistake_index": 1.5})])
    assert "mistake_index: expected a whole number" in str(problem)


def test_rows_of_other_tasks_of_mathcheck_are_told_by_their_task():
    content = {"task_type": "solving", "question_type": "seed_question", "question": "?"}
    _, [bad] = check_rows([(1, content | {"solution": None, "answer": 18.0})])
    assert str(bad) == (
        "row 1: a row of the task 'solving'; only those of process_judging have a first error"
    )


def test_logs_of_failures_may_have_numbers_and_lists_for_texts():
    entries = [
        {"role": "human", "content": "2.5?"},
        {"role": "Coder", "content": [{"text": "a"}]},
        {"role": "Coder", "content": None},
    ]
    content = {"question": "?", "history": entries, "mistake_agent": "Coder", "mistake_step": " 1"}
    [row], bad = check_rows([(1, content | {"id": "x", "ground_truth": 2.5, "level": 1.0})])
    assert not bad
    assert row.steps[1:] == ["[step 1] Coder\n[{'text': 'a'}]", "[step 2] Coder\n"]
    assert (row.label, row.extra["ground_truth"], row.extra["level"]) == (1, "2.5", "1.0")
