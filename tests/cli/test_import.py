"""Results of runs made elsewhere, imported and scored."""

import json
from time import process_time

import pytest
from click.testing import CliRunner
from inspect_ai import Task
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.scorer import SampleScore

from misstep.cli._main import cli
from misstep.forge import sample_examples
from misstep.loaders import recorded_runs
from misstep.registry import MisstepError, taxonomy
from misstep.reports import load_task, read_run
from misstep.scorers import Vote, first_error_table, score_votes
from misstep.solvers import recorded
from misstep.solvers._stepwise import first_below
from misstep.verdicts import Unread
from tests.support.runs import succeed, table_of


def run_import(folder, *arguments):
    result = CliRunner().invoke(
        cli, ["import", *map(str, arguments), "--log-dir", str(folder)], terminal_width=200
    )
    if isinstance(result.exception, MisstepError):
        raise result.exception
    assert result.exit_code == 0, result.output
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder))]
    return {log.eval.model: log for log in logs}, result.output


# What the scores give at the threshold 0.5 on their 250 ids each: gsm8k, math.
KNOWN = {
    "Qwen2.5-Math-7B-PRM800K": (66.8, 61.9),
    "Llama3.1-8B-PRM-Mistral-Data": (47.0, 30.3),
    "Qwen2.5-72B-Instruct": (70.8, 65.6),
    "Llama-3.1-70B-Instruct": (71.7, 38.7),
}


def recorded_rows(real_data):
    file = real_data / "recorded" / "processbench_step_scores.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def assert_known(got, model):
    gsm8k, math = KNOWN[model]
    assert got["total_count"] == 500
    assert 100 * got["gsm8k_f1_score"] == pytest.approx(gsm8k, abs=0.1)
    assert 100 * got["math_f1_score"] == pytest.approx(math, abs=0.1)


def test_recorded_step_scores_give_their_known_f1(real_data, tmp_path):
    model = "Qwen2.5-Math-7B-PRM800K"
    rows = [row for row in recorded_rows(real_data) if row["model"] == model]
    file = write(tmp_path / "scores.jsonl", rows)
    logs, output = run_import(tmp_path / "logs", file, "--partial")
    # Each record ends at the labelled error; the rows are 250 of each subset.
    assert "900 of 1,400 rows have no result and are not counted: gsm8k-7, " in output
    assert "252 records have no score for their last steps: " in output
    assert "119 of them give no verdict: they count as wrong" in output
    assert_known(table_of(logs[f"imported/{model}"]), model)


@pytest.mark.parametrize("model", KNOWN)
def test_every_verifiers_scores_give_their_known_f1(real_data, real_rows, model):
    """The same without a run of Inspect for each: the solver's rule, the scorer, the metrics."""
    steps = {row.id: len(row.steps) for rows in real_rows.values() for row in rows}
    scores = []
    for row in recorded_rows(real_data):
        if row["model"] == model:
            known = row["step_scores_up_to_first_error"]
            rewards = [*known, *[None] * (steps[row["id"]] - len(known))]
            verdict, _ = first_below(rewards, 0.5, Unread.NOT_RECORDED)
            score = score_votes([Vote(verdict, None)], row["label"], steps[row["id"]])
            metadata = {"has_error": row["label"] != -1, "subset": row["config"]}
            scores.append(SampleScore(score=score, sample_metadata=metadata))
    assert_known(first_error_table(scores, scores), model)


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def row(id, label, critiques, prediction):
    return {
        "id": id,
        "problem": "p",
        "steps": ["a", "b", "c"],
        "label": label,
        "generated_critique": critiques,
        "prediction": prediction,
        "match": prediction == label,
    }


def test_processbenchs_own_files_with_votes(tmp_path):
    boxes = [r"\boxed{1}", r"\boxed{0}", r"\boxed{1}"]
    error = write(tmp_path / "math_error.jsonl", [row("e", 1, boxes, 1)])
    correct = write(
        tmp_path / "math_correct.jsonl",
        [row("c", -1, [r"\boxed{-1}"] * 3, -1), row("d", -1, ["?", "?", "?"], None)],
    )
    logs, output = run_import(tmp_path / "logs", error, correct, "--model", "critic-7b")
    log = logs["imported/critic-7b"]
    got = table_of(log)
    assert (got["math_error_accuracy"], got["math_correct_accuracy"]) == (1.0, 0.5)
    assert (got["votes_drawn"], got["unparsed"]) == (3, pytest.approx(1 / 3))
    sample = next(sample for sample in log.samples if sample.id == "e")
    assert [choice.message.text for choice in sample.output.choices] == boxes
    assert "critiques" not in sample.metadata["recorded"]
    assert "differ" not in output
    assert log.eval.task == "misstep/processbench"
    assert log.eval.task_version == 1


def test_a_recorded_prediction_that_its_critique_does_not_give_is_told(tmp_path):
    file = write(tmp_path / "x_error.jsonl", [row("e", 1, r"\boxed{2}", 1)])
    _, output = run_import(tmp_path / "logs", file)
    assert "1 predictions differ from the recorded ones: e" in output


def test_step_scores_on_a_built_set_are_scored_by_type_and_position(tmp_path):
    """A reward model that sees four types of error, and takes others to be a step earlier."""
    rows = [one.row() for one in sample_examples(wrong=16, untouched=4)]
    built = write(tmp_path / "adversarial.jsonl", rows)
    seen = list(taxonomy())[:4]

    def scores(row):
        at = row["label"] if row["error_type"] in seen else row["label"] - 1
        return [0.2 if row["label"] >= 0 and i == at else 0.9 for i in range(len(row["steps"]))]

    recorded = [{"id": row["id"], "model": "prm", "scores": scores(row)} for row in rows]
    file = write(tmp_path / "scores.jsonl", recorded)
    logs, _ = run_import(tmp_path / "logs", file, "--source", built)
    [log] = logs.values()
    assert log.eval.task == "misstep/adversarial_numinamath"
    found = table_of(log, "detections")
    assert (found["total"], found["correct_detections"], found["false_positives"]) == (20, 8, 8)
    assert found["passed_untouched"] == 4
    shares = {kind: found[f"{kind}_first_error_accuracy"] for kind in taxonomy()}
    assert shares == {kind: float(kind in seen) for kind in taxonomy()}
    thirds = [found[f"{third}_total"] for third in ("middle", "late")]
    assert sum(thirds) == 16
    (tmp_path / "rejects.jsonl").write_text("", encoding="utf-8")
    done = CliRunner().invoke(cli, ["forge", "report", str(tmp_path), "--log", log.location])
    assert done.exit_code == 0, done.output
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "prm finds least" in " ".join(report.split())


def test_plain_predictions(tmp_path, own_file):
    path = tmp_path / "predictions.csv"
    path.write_text("id,prediction\na,0\nb,2\nc,\n", encoding="utf-8")
    logs, _ = run_import(tmp_path / "logs", path, "--source", own_file, "--model", "m")
    answers = {s.id: s.scores["first_error"].answer for s in logs["imported/m"].samples}
    assert answers == {"a": "0", "b": "2", "c": None}
    assert table_of(logs["imported/m"])["unparsed"] == pytest.approx(1 / 3)


EARLY = [
    {"id": "a", "scores": [0.4]},
    {"id": "b", "scores": [0.9, 0.5]},
    {"id": "c", "scores": [0.9]},
]


def test_scores_that_end_early_are_no_verdict(tmp_path, own_file):
    file = write(tmp_path / "scores.jsonl", EARLY)
    logs, output = run_import(tmp_path / "logs", file, "--source", own_file, "--partial")
    log = logs["imported/unnamed"]
    answers = {s.id: s.scores["first_error"].answer for s in log.samples}
    assert answers == {"a": "0", "b": "-1", "c": None}
    [unread] = [s for s in log.samples if s.id == "c"]
    assert unread.scores["first_error"].metadata["unread"] == "not_recorded"
    assert table_of(log)["error_accuracy"] == 0.5
    # Every sample without a verdict is in one of the shares.
    assert table_of(log)["unparsed"] == pytest.approx(1 / 3)
    assert log.eval.metadata == {"imported": True, "partial_records": 1}
    assert "1 records have no score for their last steps: c" in output
    assert "1 of them give no verdict: they count as wrong and are in the share" in output


def test_partial_records_are_imported_only_if_asked_for(tmp_path, own_file):
    file = write(tmp_path / "scores.jsonl", EARLY)
    with pytest.raises(MisstepError, match=r"1 of 3 records have no score .*\(c\).*--partial"):
        run_import(tmp_path / "logs", file, "--source", own_file)
    assert not (tmp_path / "logs").exists()


def test_a_file_without_any_result_is_refused(tmp_path):
    rows = [{"id": "a", "problem": "2 + 2", "steps": ["It is 5."], "label": 0}]
    write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(MisstepError, match=r"rows\.jsonl: no row has a result"):
        recorded_runs([str(tmp_path / "rows.jsonl")], "sample")


def test_rows_without_a_result_are_named(tmp_path, own_file):
    file = write(tmp_path / "scores.jsonl", [{"id": "b", "prediction": 1}])
    logs, output = run_import(tmp_path / "logs", file, "--source", own_file)
    assert "2 of 3 rows have no result and are not counted: a, c" in output
    unnamed = logs["imported/unnamed"]
    assert unnamed.eval.metadata["rows_without_result"] == 2
    [note] = read_run(unnamed.location).notes
    assert "no result for 2 of the rows" in note
    command = ["import", str(file), "--source", str(own_file), "--log-dir", str(tmp_path)]
    [content] = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert (content["missing"], content["samples"]) == (["a", "c"], 1)


@pytest.mark.parametrize("name", ["mine.jsonl", "math_error.jsonl"])
def test_files_that_include_their_rows_compare_with_a_source_that_is_named(
    tmp_path, own_file, own_rows, name
):
    file = write(tmp_path / name, [one | {"prediction": one["label"]} for one in own_rows[:2]])
    _, output = run_import(tmp_path / "logs", file, "--source", own_file)
    assert "1 of 3 rows have no result and are not counted: c" in output
    _, output = run_import(tmp_path / "others", file)
    assert "no result" not in output


def test_an_imported_log_is_that_of_a_run(tmp_path, own_file):
    """The same samples, scores, metrics and view as a run of Inspect over the same records."""
    rows = [
        {"id": "a", "scores": [0.4]},
        {"id": "b", "scores": [0.9, 0.5]},
        {"id": "c", "scores": [0.9, 0.3, 0.8]},
    ]
    file = write(tmp_path / "scores.jsonl", rows)
    logs, _ = run_import(tmp_path / "logs", file, "--source", own_file, "--threshold", 0.45)
    built = logs["imported/unnamed"]
    [run] = recorded_runs([str(file)], str(own_file)).values()
    native = load_task("processbench", {"source": "sample", "votes": 1})
    task = Task(
        name="misstep/processbench",
        dataset=list(run.samples.values()),
        solver=recorded(threshold=0.45),
        scorer=native.scorer,
        viewer=native.viewer,
        headline_metric=native.headline_metric,
        version=native.version,
        metadata={"imported": True},
    )
    ran = succeed(task, tmp_path, "imported/unnamed")
    same = {"id", "input", "target", "scores", "metadata", "store"}
    for ours, theirs in zip(built.samples, ran.samples, strict=True):
        assert ours.model_dump(include=same) == theirs.model_dump(include=same)
        assert ours.output.completion == theirs.output.completion
        assert [m.text for m in ours.messages] == [m.text for m in theirs.messages]
    assert built.results.model_dump_json() == ran.results.model_dump_json()
    for name in ("task", "task_version", "model", "viewer", "scorers", "headline_metric"):
        assert getattr(built.eval, name) == getattr(ran.eval, name), name
    assert built.plan.steps[0].solver == ran.plan.steps[0].solver
    assert (built.status, built.eval.metadata) == (ran.status, ran.eval.metadata)


def test_a_thousand_rows_are_imported_without_a_run(tmp_path):
    rows = [
        {"id": f"r{i}", "problem": f"{i}?", "steps": ["a", "b", "c"], "label": i % 4 - 1}
        for i in range(1000)
    ]
    for row in rows:
        row["scores"] = [0.2 if step == row["label"] else 0.9 for step in range(3)]
    file = write(tmp_path / "scores.jsonl", rows)
    started = process_time()
    logs, _ = run_import(tmp_path / "logs", file)
    # A run of Inspect takes ten times as long, and leaves events.
    assert process_time() - started < 4
    [log] = logs.values()
    assert table_of(log)["f1_score"] == 1
    assert not any(sample.events for sample in log.samples)


def test_processes_write_the_same_logs(tmp_path, own_file, monkeypatch):
    rows = [
        {"id": id, "model": model, "scores": scores}
        for model in ("m1", "m2")
        for id, scores in (("a", [0.4]), ("b", [0.9, 0.5]), ("c", [0.9, 0.3, 0.8]))
    ]
    file = write(tmp_path / "scores.jsonl", rows)
    alone, said = run_import(tmp_path / "alone", file, "--source", own_file)
    monkeypatch.setattr("misstep.reports._imports._MANY_SAMPLES", 1)
    shared, also_said = run_import(tmp_path / "shared", file, "--source", own_file)
    assert alone.keys() == shared.keys()
    for model, one in alone.items():
        assert one.results == shared[model].results
        assert [s.scores for s in one.samples] == [s.scores for s in shared[model].samples]
    assert [text.split("\nlog ")[0] for text in (said, also_said)] == [said.split("\nlog ")[0]] * 2


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": "z", "prediction": 1}], "the id 'z' is not a row of"),
        ([{"id": "a", "prediction": 1}] * 2, "recorded twice"),
        ([{"id": "a", "scores": [1, 1, 1]}], "3 scores for the 1 steps"),
        ([{"id": "a", "scores": [float("nan")]}], r"scores\[0\]"),
        ([{"id": "a", "scores": [1.2]}], r"the score 1\.2 of step 0 of 'a' is not from 0 to 1"),
        ([{"id": "b", "scores": [0.5, -3]}], "the score -3 of step 1 of 'b' is not from 0 to 1"),
        ([{"id": "a", "prediction": "x"}], "prediction: expected a whole number"),
        ([{"prediction": 1}], "id: missing"),
        ([7], "not an object"),
        ([], "hold no results"),
    ],
)
def test_a_bad_record_is_named(tmp_path, own_file, rows, says):
    file = write(tmp_path / "bad.jsonl", rows)
    with pytest.raises(MisstepError, match=says):
        run_import(tmp_path / "logs", file, "--source", own_file)
    assert not (tmp_path / "logs").exists()
