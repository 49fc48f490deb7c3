"""A source that holds another kind of rows is refused by name, in one message."""

import json

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.loaders import (
    attribution_dataset,
    corpus_rows,
    error_sections_dataset,
    first_error_dataset,
    load_rows,
    problems_dataset,
    recovery_dataset,
    trajectory_dataset,
)
from misstep.loaders._rows import row_kind
from misstep.registry import ROW_KINDS, DataError, UnknownNameError, sources
from tests.support.rows import delta_row

ROWS = {
    "first_error": {"id": "a", "problem": "p", "steps": ["s"], "label": 0},
    "error_sections": delta_row("a", errors=[1]),
    "trajectory": {
        "id": "a",
        "messages": [{"role": "assistant", "content": "s"}],
        "step_labels": {"0": -1},
    },
    "attribution": {
        "id": "a",
        "question": "p",
        "history": [{"role": "Planner", "content": "s"}],
        "mistake_agent": "Planner",
        "mistake_step": "0",
    },
    "wrong_steps": {
        "idx": "p_1",
        "classification": "circular",
        "modified_question": "p",
        "modified_process": ["s"],
        "error_steps": [1],
    },
    "mistake": {
        "id": "a",
        "task": "word_sorting",
        "input": "b a",
        "steps": ["b", "a"],
        "target": "a b",
        "mistake_index": 0,
    },
    "problem": {"id": "a", "problem": "p", "answer": "1"},
    "solution": {"source": "olympiads", "problem": "p", "solution": "s"},
}
READERS = {
    "first_error": first_error_dataset,
    "error_sections": error_sections_dataset,
    "trajectory": trajectory_dataset,
    "attribution": attribution_dataset,
    "mistake": recovery_dataset,
    "problem": problems_dataset,
    "solution": lambda source: list(corpus_rows(source)),
}
CONVERTED = {
    ("first_error", kind)
    for kind in ("error_sections", "wrong_steps", "trajectory", "attribution", "mistake")
}
"""Rows with all erroneous sections or steps, or with a mistake, have a first error."""

OTHERS = [
    (needed, kind)
    for needed in READERS
    for kind in ROWS
    if kind != needed and (needed, kind) not in CONVERTED
]


def test_every_kind_is_known_by_its_columns():
    assert {kind: row_kind(row) for kind, row in ROWS.items()} == {kind: kind for kind in ROW_KINDS}
    assert row_kind({"problem": "p", "steps": ["s"]}) is None
    assert row_kind({}) is None


@pytest.mark.parametrize(("needed", "kind"), OTHERS)
def test_a_registered_source_is_refused_before_it_is_looked_for(
    needed, kind, tmp_path, monkeypatch
):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = [name for name, source in sources().items() if source.kind == kind] or ["numinamath"]
    fitting = [name for name, source in sources().items() if source.kind == needed]
    for name in names:
        if (needed, name) == ("problem", "sample"):
            continue  # the generated problems have this name, too
        with pytest.raises(DataError) as caught:
            READERS[needed](name)
        message = str(caught.value)
        assert message.startswith(f"The source {name!r} holds {ROW_KINDS[kind]}.")
        assert f"Needed: {ROW_KINDS[needed]}." in message
        listed = message.partition("Sources that have them: ")[2]
        assert all(other in listed for other in fitting)
        assert name not in listed.partition(";")[0].split(", ")


@pytest.mark.parametrize(("needed", "kind"), [x for x in OTHERS if x[0] != "solution"])
def test_a_file_of_another_kind_gets_one_message(needed, kind, tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [ROWS[kind] | {"id": f"r{i}"} for i in range(50)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        READERS[needed](str(path))
    message = str(caught.value)
    assert message.startswith(str(path))
    assert f"holds {ROW_KINDS[kind]}. Needed: {ROW_KINDS[needed]}." in message
    assert "row 2" not in message


def test_a_few_rows_of_another_kind_are_named(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [ROWS["problem"], ROWS["first_error"] | {"id": "b"}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match=r"2 problems:\n  row 1 \('a'\): steps: missing"):
        load_rows(str(path))


def test_the_check_of_a_file_tells_the_kind_too(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("problem,answer\n1 + 1?,2\n", encoding="utf-8")
    done = CliRunner().invoke(cli, ["data", "check", str(path)])
    assert done.exit_code != 0
    assert "holds problems with answers" in str(done.exception or done.output)


def test_an_unknown_source_lists_those_that_fit():
    with pytest.raises(UnknownNameError) as caught:
        recovery_dataset("big_bench")
    assert "Unknown source 'big_bench'." in str(caught.value)
    assert "Allowed: big_bench_mistake, generated. Or name a file" in str(caught.value)


def test_the_name_of_a_subset_is_no_source_of_its_rows():
    with pytest.raises(DataError, match="-T source=processbench -T subset=gsm8k"):
        first_error_dataset("gsm8k")
