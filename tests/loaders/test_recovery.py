import json
from collections import Counter

import pytest

from misstep.loaders import recovery_dataset
from misstep.registry import DataError, sizes, sources
from tests.generator.checker import judged

ORDER = (
    "multistep_arithmetic",
    "tracking_shuffled_objects",
    "word_sorting",
    "logical_deduction",
    "dyck_languages",
)
COUNTS = (201, 246, 239, 250, 500)


def originals(folder):
    """The eval's rows by the published rule, read without any of misstep's code."""
    for task in ORDER:
        path = folder / "big_bench_mistake" / f"{task}.jsonl"
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
            row = json.loads(line) if line else {"mistake_index": None}
            at = row["mistake_index"]
            if at is not None and row["answer"] != row["target"] and at != len(row["steps"]) - 1:
                yield task, number, row


@pytest.mark.parametrize(("variant", "each"), [("main", None), ("medium", 50), ("small", 2)])
def test_rows_are_those_of_the_original_set_in_its_order(real_data, variant, each):
    taken = Counter()
    wanted = []
    for task, number, row in originals(real_data):
        taken[task] += 1
        if each is None or taken[task] <= each:
            wanted.append((task, number, row))
    dataset = recovery_dataset("big_bench_mistake", each, order="published")
    assert len(dataset) == len(wanted) == sizes()[f"error-recovery.{variant}"].samples
    for sample, (task, number, row) in zip(dataset, wanted, strict=True):
        at = row["mistake_index"]
        assert sample.id == f"{task}-{number}"
        assert sample.target == row["target"]
        assert sample.metadata["task"] == task
        assert sample.metadata["mistake_index"] == at
        assert sample.metadata["n_steps"] == len(row["steps"])
        assert sample.metadata["correct_steps"] == row["steps"][:at]
        assert sample.metadata["incorrect_step"] == row["steps"][at]
        instructed = task in ("word_sorting", "dyck_languages")
        assert sample.input.endswith(row["input"])
        assert (sample.input == row["input"]) is not instructed
        if instructed:
            assert sample.input.partition("\n")[2] == row["input"]
    assert tuple(taken[task] for task in ORDER) == COUNTS


def test_the_source_is_pinned():
    source = sources()["big_bench_mistake"]
    assert source.revision == "270683a4ecce6f3b22c4ab28a204ab8fa09f2517"
    assert tuple(file.subset for file in source.files) == ORDER
    assert sum(file.rows for file in source.files) == 2186


def test_a_changed_copy_is_refused_with_both_values(real_data, tmp_path, monkeypatch):
    folder = tmp_path / "big_bench_mistake"
    folder.mkdir()
    for task in ORDER:
        text = (real_data / "big_bench_mistake" / f"{task}.jsonl").read_text(encoding="utf-8")
        changed = text.replace('"target": "13"', '"target": "14"', 1)
        (folder / f"{task}.jsonl").write_text(changed, encoding="utf-8")
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"(?s)expected sha256 b3f9.*-T accept="):
        recovery_dataset("big_bench_mistake")


GOOD = {
    "task": "word_sorting",
    "input": "b a",
    "steps": ["b", "a b", "so b a"],
    "target": "a b",
    "answer": "b a",
    "mistake_index": 0,
}


def own_file(tmp_path, *rows):
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_rows_of_ones_own(tmp_path):
    rows = [GOOD, GOOD | {"id": 7, "mistake_index": 2}, GOOD | {"id": "x", "mistake_index": None}]
    [sample] = recovery_dataset(own_file(tmp_path, *rows))
    assert sample.id == "word_sorting-0"
    assert sample.input.endswith("\nb a")
    assert sample.metadata["correct_steps"] == []
    assert sample.metadata["incorrect_step"] == "b"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"mistake_index": 3},
            "row 1 .*mistake_index: 3 is beyond its 3 steps; allowed are 0 to 2",
        ),
        ({"mistake_index": -1}, "mistake_index: -1 is below 0"),
        ({"mistake_index": 0.5}, "mistake_index: expected a whole number"),
        ({"target": None}, "target: expected a valid string"),
        ({"target": ""}, "target: empty"),
        ({"steps": []}, "steps: empty"),
        ({"task": "sums"}, "task: 'sums' is unknown; allowed are multistep_arithmetic"),
        ({"input": ...}, "input: missing"),
        ({"target": ...}, "target: missing"),
        ({"mistake_index": ...}, "mistake_index: missing"),
    ],
)
def test_a_row_that_breaks_the_rules_is_named_and_refused(tmp_path, change, says):
    row = {name: value for name, value in (GOOD | change).items() if value is not ...}
    with pytest.raises(DataError, match=says):
        recovery_dataset(own_file(tmp_path, row, GOOD | {"id": "other"}))


def test_all_bad_rows_are_counted_and_the_first_quoted(tmp_path):
    bad = [GOOD | {"id": f"r{i}", "mistake_index": 9} for i in range(7)]
    with pytest.raises(DataError, match=r"(?s)7 problems:.*row 5 \('r4'\).*and 2 more"):
        recovery_dataset(own_file(tmp_path, *bad))


def test_two_rows_of_one_id_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"row 2 .*id: already used by row 1"):
        recovery_dataset(own_file(tmp_path, GOOD | {"id": "a"}, GOOD | {"id": "a"}))


def test_a_file_with_nothing_to_recover_from_is_refused(tmp_path):
    with pytest.raises(DataError, match="no row has a mistake"):
        recovery_dataset(own_file(tmp_path, GOOD | {"answer": "a b"}))


def test_a_source_that_is_not_there_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="misstep data fetch big_bench_mistake"):
        recovery_dataset("big_bench_mistake")


def test_generated_problems_begin_rightly_and_then_go_wrong():
    dataset = recovery_dataset("generated")
    assert len(dataset) >= 30
    assert set(Counter(sample.metadata["task"] for sample in dataset).values()) == {8}
    for sample in dataset:
        told = sample.metadata
        steps = [*told["correct_steps"], told["incorrect_step"]]
        wrong, _, answer, _ = judged(told["task"], sample.input, steps)
        assert wrong == [False] * told["mistake_index"] + [True], sample.id
        assert answer == sample.target
        assert 0 < told["mistake_index"] < told["n_steps"] - 1


def test_generated_problems_are_those_of_their_seed():
    first = [s.model_dump() for s in recovery_dataset("generated", 2, seed=3)]
    assert first == [s.model_dump() for s in recovery_dataset("generated", 2, seed=3)]
    assert {s["input"] for s in first}.isdisjoint(
        s.input for s in recovery_dataset("generated", 2, seed=4)
    )
    assert len({s["metadata"]["task"] for s in first[:5]}) == 5
