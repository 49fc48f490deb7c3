"""Every loader says which rows are not independent."""

import json
import os
from pathlib import Path

import pytest

from misstep.forge import adversarial_dataset
from misstep.loaders import (
    error_sections_dataset,
    first_error_dataset,
    problems_dataset,
    procedural_dataset,
    recovery_dataset,
    solution_datasets,
)
from misstep.samples import GroupMetadata, problem_cluster

SOLUTION = {"problem": "1 + 1?", "steps": ["2"], "label": -1}
PROBLEM = {"problem": "1 + 1?", "answer": "2"}
MISTAKE = {
    "task": "multistep_arithmetic",
    "input": "1 + 1?",
    "steps": ["a", "b", "c"],
    "target": "2",
    "mistake_index": 0,
}
SECTIONS = {
    "question": "1 + 1?",
    "sections_content": "section1: 2",
    "reason_error_section_numbers": [1],
}


def write(tmp_path: Path, rows: list[dict[str, object]]) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def clusters(dataset):
    return [sample.metadata_as(GroupMetadata).cluster for sample in dataset]


@pytest.mark.parametrize(
    ("load", "row", "problem"),
    [
        (first_error_dataset, SOLUTION, "problem"),
        (adversarial_dataset, SOLUTION, "problem"),
        (error_sections_dataset, SECTIONS, "question"),
        (recovery_dataset, MISTAKE, "input"),
        (problems_dataset, PROBLEM, "problem"),
    ],
)
def test_rows_of_one_problem_are_one_cluster(tmp_path, load, row, problem):
    texts = ["1 + 1?", " 1 +\n1? ", "2 + 2?"]
    rows = [row | {"id": f"row-{i}", problem: text} for i, text in enumerate(texts)]
    first, same, other = clusters(load(write(tmp_path, rows)))
    assert first == same == problem_cluster("1 + 1?")
    assert other == problem_cluster("2 + 2?")


@pytest.mark.parametrize(
    ("load", "row"),
    [
        (first_error_dataset, SOLUTION),
        (error_sections_dataset, SECTIONS),
        (recovery_dataset, MISTAKE),
        (problems_dataset, PROBLEM),
    ],
)
def test_a_row_may_name_its_cluster(tmp_path, load, row):
    rows = [row | {"id": "a", "cluster": "query-7"}, row | {"id": "b", "cluster": 7}]
    assert clusters(load(write(tmp_path, rows))) == ["query-7", "7"]


PRMBENCH = {"modified_process": ["1.", "2."], "error_steps": [1]}
MR_BEN = {
    "Subject": "college_physics",
    "Model_Solution_Steps": ["Step 1: a", "Step 2: b"],
    "Model_Solution_Correctness": "incorrect",
    "Model_Solution_First_Error_Step": "2",
}


def test_classes_of_prmbench_that_are_made_from_one_problem_are_one_cluster(tmp_path):
    rows = [
        PRMBENCH
        | {"idx": f"{kind}_{i}", "classification": kind, "modified_question": f"{kind} {i}?"}
        for i in (7, 8)
        for kind in ("circular", "deception", "confidence")
    ]
    assert clusters(first_error_dataset(write(tmp_path, rows))) == ["7"] * 3 + ["8"] * 3


def test_solutions_of_one_question_of_mr_ben_are_one_cluster(tmp_path):
    rows = [
        MR_BEN | {"Question_UUID": question, "Question": "1 + 1?", "Options": f"A: {place}"}
        for question in ("aaaaaaaa-0", "bbbbbbbb-0")
        for place in range(2)
    ]
    found = clusters(first_error_dataset(write(tmp_path, rows)))
    assert found == ["aaaaaaaa-0"] * 2 + ["bbbbbbbb-0"] * 2


def test_generated_rows_have_a_cluster():
    generated = [
        procedural_dataset(0, 20, "6", "any", None, None, 1, 0.5),
        recovery_dataset("generated", per_task=2),
        problems_dataset("sample"),
        adversarial_dataset("sample"),
    ]
    for dataset in generated:
        assert all(clusters(dataset))


def test_recorded_solutions_have_the_cluster_of_their_problem(tmp_path):
    row = {"id": "a", "problem": "1 + 1?", "target": "2", "steps": ["2"], "scores": [1.0]}
    [dataset] = solution_datasets([write(tmp_path, [row])]).values()
    assert clusters(dataset) == [problem_cluster("1 + 1?")]


@pytest.mark.skipif("MISSTEP_DATA" not in os.environ, reason="needs real rows")
@pytest.mark.parametrize(("subset", "problems"), [("gsm8k", 375), ("math", 955)])
def test_the_number_of_problems_of_processbench(subset, problems):
    file = Path(os.environ["MISSTEP_DATA"]) / "processbench" / f"{subset}.json"
    assert len(set(clusters(first_error_dataset(str(file))))) == problems
