"""Results of runs, written for other tools and read back."""

import csv
import json
import math

import pytest
from click.testing import CliRunner
from inspect_ai.log import read_eval_log, write_eval_log

from misstep.cli._main import cli
from misstep.evals.deltabench import deltabench
from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.processbench import processbench
from misstep.registry import MisstepError
from tests.cli.test_import import run_import
from tests.support.openai_server import Fault, Faults
from tests.support.rows import delta_row
from tests.support.runs import table_of


def export(*arguments):
    result = CliRunner().invoke(cli, ["export", *map(str, arguments)])
    if isinstance(result.exception, MisstepError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def delta_file(tmp_path):
    rows = [
        delta_row("d-0", errors=[2]),
        delta_row("d-1", task_l1="Physics&Chemistry&Biology", model="qwq"),
        delta_row("d-2", errors=[1], task_l1="Physics&Chemistry&Biology", model="r1"),
    ]
    path = tmp_path / "Deltabench_v1.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def vote(request, choice):
    return rf"I say \boxed{{{[1, 1, -1, 0][choice % 4]}}}"


def test_deltabench_writes_rows_and_figures_by_task(serve, delta_file, tmp_path, monkeypatch):
    log, _ = serve(deltabench(source=delta_file), vote)
    monkeypatch.chdir(tmp_path)
    result = export(log.location, "--format", "deltabench")
    name = "results/processbench/Deltabench_v1_openai-api_local_critic_votes8"
    assert result.output.split() == [f"{name}.jsonl", f"{name}.csv"]
    rows = lines(tmp_path / f"{name}.jsonl")
    assert [(row["id"], row["label"], row["prediction"], row["match"]) for row in rows] == [
        ("d-0", 1, 1, True),
        ("d-1", -1, 1, False),
        ("d-2", 0, 1, False),
    ]
    assert rows[0]["votes"] == ["1", "1", "-1", "0"] * 2
    assert rows[0]["vote_distribution"] == {"1": 4, "-1": 2, "0": 2}
    assert len(rows[0]["generated_critique"]) == 8
    with (tmp_path / f"{name}.csv").open(encoding="utf-8") as stream:
        table = {row["task_l1"]: row for row in csv.DictReader(stream)}
    assert list(table) == ["Overall", "Physics&Chemistry&Biology", "math"]
    assert (table["Overall"]["error_accuracy"], table["Overall"]["total_count"]) == ("50.0", "3")
    # No row of mathematics is without an error: undefined, not 0.
    assert (table["math"]["error_accuracy"], table["math"]["correct_accuracy"]) == ("100.0", "")


def test_what_processbench_writes_is_imported_with_the_same_figures(serve, delta_file, tmp_path):
    faults = Faults(script=[Fault.TRUNCATED, Fault.REFUSAL, None, Fault.NULL_CONTENT])
    sources = [processbench(source="sample"), deltabench(source=delta_file)]
    for number, task in enumerate(sources):
        log, _ = serve(task, vote, faults=faults, limit=12, sample_shuffle=1)
        folder = tmp_path / f"out-{number}"
        files = export(log.location, "--format", "processbench", "-o", folder).output.split()
        logs, output = run_import(tmp_path / f"again-{number}", *files, "--model", "m")
        was, again = table_of(log), table_of(logs["imported/m"])
        assert was.keys() == again.keys()
        for name, value in was.items():
            same = again[name] == value or (math.isnan(value) and math.isnan(again[name]))
            assert same, (name, value, again[name])
        assert "differ" not in output
    assert sorted(path.name for path in (tmp_path / "out-1").iterdir()) == [
        "Physics_Chemistry_Biology_correct.jsonl",
        "Physics_Chemistry_Biology_error.jsonl",
        "math_error.jsonl",
    ]


def test_processbench_rows_have_the_samples_own_fields(serve, own_file, tmp_path):
    log, _ = serve(processbench(source=str(own_file)), vote)
    export(log.location, "--format", "processbench", "-o", tmp_path / "out")
    [row] = lines(tmp_path / "out" / "own_correct.jsonl")
    assert (row["id"], row["steps"], row["label"], row["note"]) == ("b", ["2 + 2", "= 4."], -1, "x")
    assert row["generated_critique"] == r"I say \boxed{1}"
    assert (row["prediction"], row["match"]) == (1, False)
    assert len(lines(tmp_path / "out" / "own_error.jsonl")) == 1
    assert len(lines(tmp_path / "out" / "sums_error.jsonl")) == 1


def test_json_has_the_guides_shape_in_percent(serve, own_file, tmp_path):
    log, _ = serve(processbench(source=str(own_file)), lambda *_: r"\boxed{0}")
    export(log.location, "--format", "json", "-o", tmp_path)
    content = json.loads((tmp_path / "own_openai-api_local_critic_votes1.json").read_text())
    assert content["metrics"] == {
        "error_accuracy": 50.0,
        "correct_accuracy": 0.0,
        "f1_score": 0.0,
        "error_count": 2,
        "correct_count": 1,
        "total_count": 3,
    }
    assert content["results"][0] == {
        "id": "a",
        "label": 0,
        "prediction": 0,
        "match": True,
        "votes": ["0"],
        "vote_distribution": {"0": 1},
        "generated_text": r"\boxed{0}",
    }


def test_samples_that_failed_are_left_out_and_told_of(serve, own_file, tmp_path):
    def broken_once(request, choice):
        if "2 + 2" in request.text:
            raise RuntimeError("no")
        return r"\boxed{0}"

    log, _ = serve(processbench(source=str(own_file)), broken_once, fail_on_error=False)
    result = export(log.location, "--format", "json", "-o", tmp_path)
    assert "1 samples ended in an error and are left out" in result.stderr
    [path] = tmp_path.glob("*.json")
    assert len(json.loads(path.read_text())["results"]) == 2


def test_what_cannot_be_exported_is_one_message_and_no_file(serve, own_file, delta_file, tmp_path):
    log, _ = serve(processbench(source=str(own_file)), vote)
    sections, _ = serve(deltabench_sections(source=delta_file, critic="no_error"), vote)
    epochs, _ = serve(processbench(source=str(own_file)), vote, epochs=2)
    cancelled = read_eval_log(log.location)
    cancelled.status = "cancelled"
    write_eval_log(cancelled, str(tmp_path / "cancelled.eval"))
    (tmp_path / "broken.eval").write_bytes(b"PK not a log")
    for address, says in [
        (sections.location, "not a log of a first-error eval. Its scores are error_sections"),
        (epochs.location, "2 epochs"),
        (tmp_path / "cancelled.eval", "status is 'cancelled'"),
        (tmp_path / "broken.eval", "cannot be read as an Inspect log"),
        (tmp_path / "nowhere.eval", "cannot be read as an Inspect log"),
    ]:
        with pytest.raises(MisstepError, match=says):
            export(log.location, address, "--format", "json", "-o", tmp_path / "out")
    with pytest.raises(MisstepError, match="would be written twice"):
        export(log.location, log.location, "--format", "json", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").touch()
    with pytest.raises(MisstepError, match="cannot be written"):
        export(log.location, "--format", "json", "-o", tmp_path / "file" / "out")


def test_a_set_of_files_is_written_whole_or_not_at_all(tmp_path):
    from misstep.loaders import write_files

    (tmp_path / "b").mkdir()
    (tmp_path / "c").touch()
    with pytest.raises(MisstepError, match="cannot be written"):
        write_files({tmp_path / "a": b"1", tmp_path / "c" / "x": b"2"}, "cure")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "c"]
