"""Recorded outputs are read in the files and folders of their publishers."""

import gzip
import json
import random

import pytest
from inspect_ai.log import read_eval_log

from misstep.loaders import load_rows, recorded_runs
from misstep.registry import DataError, MisstepError
from misstep.reports import import_files, import_records, reference_runs
from misstep.reports._results_page import results_files
from misstep.scorers import read_judged_step_published
from tests.support.runs import metrics_of


@pytest.fixture
def data(real_data, monkeypatch):
    if not (real_data / "mr_math").is_dir():
        pytest.skip("the offline mirror has no mr_math")
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    return real_data


def samples_of(imported):
    return {str(one.id): one for one in read_eval_log(imported.log.location).samples}


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def models(imported):
    return [one.log.eval.model.removeprefix("imported/") for one in imported]


# ReasonEval


def critique(id, said, step):
    return {"id": id, "response": "", "correctness_pred": said, "error_step_pred": step}


def test_each_file_of_critiques_is_a_model(data, tmp_path):
    one = write_lines(
        tmp_path / "gpt4_eval_results.json", [critique(i, "Correct", "N/A") for i in (0, 1)]
    )
    other = write_lines(
        tmp_path / "gpt3_5_turbo_eval_results.json", [critique(i, "Wrong", "2") for i in (0, 1)]
    )
    imported = list(import_files([one, other], str(tmp_path / "logs")))
    assert models(imported) == ["gpt4", "gpt3_5_turbo"]
    assert [samples_of(one)["mr_math-0"].scores["first_error"].answer for one in imported] == [
        *("-1", "1")
    ]
    with pytest.raises(MisstepError, match="each of the 2 files holds the outputs of one model"):
        list(import_files([one, other], str(tmp_path / "logs"), model="x"))
    table = write_lines(tmp_path / "scores.jsonl", [{"id": "gsm8k-0", "scores": [1.0]}])
    with pytest.raises(DataError, match="another format than the other files"):
        list(import_files([one, table], str(tmp_path / "logs")))
    twice = write_lines(tmp_path / "twice.json", [critique(0, "Wrong", "2")] * 2)
    with pytest.raises(DataError, match="the id 0 is recorded twice"):
        list(import_files([twice], str(tmp_path / "logs")))


def test_wrong_at_step_0_is_not_no_error(data, tmp_path):
    rows = [critique(i, "Wrong", "Step 0") for i in (0, 1)]
    path = write_lines(tmp_path / "gpt4_eval_results.json", rows)
    [imported] = import_files([path], str(tmp_path / "logs"))
    assert samples_of(imported)["mr_math-0"].scores["first_error"].answer is None


def macro_f1(pairs):
    parts = []
    for kind in (1, 0):
        hits = sum(a == b == kind for a, b in pairs)
        parts.append(2 * hits / sum((a == kind) + (b == kind) for a, b in pairs))
    return round(sum(parts) / 2, 6)


@pytest.mark.parametrize("triples", [True, False])
def test_step_scores_of_reason_eval(data, tmp_path, triples):
    draw = random.Random(3)
    rows = lines_of(data / "mr_math" / "mr-math_invalid_errors.json")
    records, solutions, steps, first = [], [], [], {}
    for row in rows:
        sizes = [len(parts) for parts in row["model_output_step_format"]]
        wrong = [draw.choice([0.1, 0.2, 0.3, 0.9]) for _ in range(sum(sizes))]
        scores = [[x, (1 - x) / 2, (1 - x) / 2] if triples else 1 - x for x in wrong]
        records.append({"id": row["id"], "scores": scores})
        right = [1 - x for x in wrong]
        least = [min(right.pop(0) for _ in range(size)) for size in sizes]
        label = row["model_output_solution_first_error_step"]
        bad = row["model_output_solution_correctness"] == "wrong"
        solutions.append((int(not bad), int(min(least) > 0.5)))
        gold = [1] * (label - 1) + [0] if bad else [1] * len(least)
        steps += zip(gold, [int(x > 0.5) for x in least], strict=False)
        below = [i for i, x in enumerate(least) if x < 0.5]
        first[f"mr_math-{row['id']}"] = str(below[0] if below else -1)
    path = write_lines(tmp_path / "reasoneval_mistral-7b_eval_results.json", records)
    source = None if triples else "mr_math"
    [imported] = import_files([path], str(tmp_path / "logs"), source=source)
    assert (imported.format, imported.missing) == ("ReasonEval's step scores", [])
    assert models([imported]) == ["reasoneval_mistral-7b"]
    found = metrics_of(imported.log, "reward_meta_reasoning_published")
    assert round(found["solution_macro_f1"], 6) == macro_f1(solutions)
    assert round(found["step_macro_f1"], 6) == macro_f1(steps)
    answers = {id: one.scores["first_error"].answer for id, one in samples_of(imported).items()}
    assert answers == first
    whole = write_lines(tmp_path / "roscoe-sa_eval_results.json", [{"id": 0, "scores": 0.02}] * 2)
    with pytest.raises(DataError, match="a list with a score for each sub-step"):
        list(import_files([whole], str(tmp_path / "logs"), source="mr_math"))


def test_scores_of_redundant_steps(data, tmp_path):
    draw = random.Random(4)
    rows = lines_of(data / "mr_math" / "mr-math_redundant_errors.json")
    records, solutions, steps = [], [], []
    for row in rows:
        neutral = [draw.choice([0.05, 0.1, 0.5]) for _ in row["rating"]]
        records.append({"id": row["id"], "scores": [[0.1, x, 0.9 - x] for x in neutral]})
        called = [int(-x > -0.15) for x in neutral]
        solutions.append((int(0 not in row["rating"]), int(0 not in called)))
        steps += zip(row["rating"], called, strict=True)
    path = write_lines(tmp_path / "reasoneval_eval_results.json", records)
    [imported] = import_files([path], str(tmp_path / "logs"), source="mr_math_redundant")
    assert imported.log.eval.task == "misstep/prmbench"
    found = metrics_of(imported.log, "reward_meta_reasoning_published")
    assert round(found["solution_macro_f1"], 6) == macro_f1(solutions)
    assert round(found["step_macro_f1"], 6) == macro_f1(steps)
    ours = metrics_of(imported.log, "step_validity")
    assert ours["prmscore"] == pytest.approx(found["step_macro_f1"])


# PRMBench


def test_results_in_prmbench_own_format(data, tmp_path):
    rows = load_rows("prmbench_test_p1")
    plain = [row for row in rows if row.subset == "confidence"][:4]
    circular = next(row for row in rows if row.subset == "circular" and row.label > 0)

    def result(row, labels, **more):
        own = {"step_level_validity_labels": labels, "step_level_validity_scores": labels} | more
        return {"idx": row.id, "scores": own}

    right = [[True] * len(row.steps) for row in plain]
    records = [
        {"idx": "correct_prm_test_p1_0", "scores": {"step_level_validity_labels": [True]}},
        result(plain[0], right[0]),
        # The first result of a row counts.
        result(plain[0], [False] * len(plain[0].steps)),
        result(plain[1], right[1][:-1]),
        {"idx": plain[2].id, "validity": False},
        result(
            circular,
            [True] * len(circular.steps),
            step_level_redundancy_labels=[i == circular.label for i in range(len(circular.steps))],
        ),
    ]
    path = write_lines(tmp_path / "model.jsonl", records)
    [imported] = import_files([path], str(tmp_path / "logs"))
    assert len(imported.missing) == len(rows) - 4
    found = samples_of(imported)
    ours = {id: one.scores["step_validity"] for id, one in found.items()}
    assert ours[plain[0].id].answer == "-1"
    assert ours[plain[1].id].metadata["unread"] == "wrong_length"
    assert found[plain[1].id].scores["first_error"].answer is None
    published = {id: one.scores["step_validity_published"] for id, one in found.items()}
    assert published[plain[1].id].metadata["labels"] == right[1][:-1]
    assert ours[plain[2].id].metadata["unread"] == "not_structured"
    assert "left_out" in published[plain[2].id].metadata
    assert ours[circular.id].answer == str(circular.label)


def test_results_beyond_the_first_phase_are_looked_up_in_all_rows(data, tmp_path):
    scores = {"step_level_validity_scores": [1.0]}
    path = write_lines(
        tmp_path / "prm_result.jsonl", [{"idx": "circular_prm_train_p1_3", "scores": scores}]
    )
    with pytest.raises(DataError, match="of the source 'prmbench' was not found"):
        list(import_files([path], str(tmp_path / "logs")))


def test_rows_in_many_files_are_one_source(data):
    rows = load_rows(str(data / "prmbench" / "prm800k_*.jsonl"))
    assert {row.id for row in rows} < {row.id for row in load_rows("prmbench_test_p1")}
    assert len({row.subset for row in rows}) == 8


# MathCheck


def test_published_predictions_of_mathcheck_have_all_tasks(data, tmp_path):
    rows = json.loads((data / "mathcheck" / "gpt-3.5-turbo.json").read_text())
    other = {"task_type": "solving", "solution": None, "answer": 18.0, "image": None}
    full = [{**row, **more} for row in rows for more in (other, {})]
    files = []
    for model in ("gpt-3.5-turbo", "o1-mini"):
        name = f"gsm_checklist_{model}_task_all_question_all_zeroshot_prediction.json"
        files.append(tmp_path / "results" / name)
        files[-1].parent.mkdir(exist_ok=True)
        files[-1].write_text(json.dumps(full))
    imported = list(import_files([*map(str, files)], str(tmp_path / "logs")))
    assert models(imported) == ["gpt-3.5-turbo", "o1-mini"]
    clusters = [one.metadata["cluster"] for one in samples_of(imported[0]).values()]
    assert len(set(clusters)) == 129
    hits = sum(read_judged_step_published(r["model_prediction"]) == r["answer"] for r in rows)
    found = metrics_of(imported[0].log, "process_judging_published")["process_judging"]
    assert found == pytest.approx(hits / 516)
    # The file of rows is no record.
    (tmp_path / "own" / "mathcheck").mkdir(parents=True)
    for name in ("process_judging.json", "gpt-3.5-turbo.json"):
        (tmp_path / "own" / "mathcheck" / name).symlink_to(data / "mathcheck" / name)
    assert dict(import_records(tmp_path / "own", tmp_path / "a")) == {"mathcheck": 1}
    assert dict(import_records(tmp_path, tmp_path / "b")) == {"mathcheck": 2}


# AgentProcessBench


def test_judges_in_the_folders_of_the_original_repository(data, tmp_path):
    own = data / "agentprocessbench" / "verdicts" / "Qwen3-8B"
    judge = tmp_path / "repository" / "eval" / "results" / "GPT-5.2-Chat "
    judge.mkdir(parents=True)
    for path in own.iterdir():
        (judge / path.name.replace("Non-T", "Non-t")).symlink_to(path)
    assert dict(import_records(tmp_path / "repository", tmp_path)) == {
        "agentprocessbench_judges": 1
    }
    [found] = reference_runs(tmp_path)
    figures = {figure.metric: figure for figure in found.figures}
    assert {figure.model for figure in found.figures} == {"GPT-5.2-Chat"}
    assert round(figures["hotpotqa_step_accuracy"].value, 2) == 60.35
    # Numbers for all sets stand beside records of all sets only.
    assert "step_accuracy" not in figures


def test_labels_alone_are_enough_to_score_judges(data, tmp_path):
    path = data / "agentprocessbench" / "verdicts" / "Qwen3-8B"
    [file] = path.glob("bfcl*")
    [imported] = import_files([str(file)], str(tmp_path))
    assert imported.log.eval.dataset.name == "agentprocessbench_labels"


# FoVer


def fover_file(folder, subset, model, rows):
    path = folder / f"processbench_{subset}" / "multi-turn" / f"verification={model}" / "test.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = [
        label
        for row in rows
        for label in ([True] * row["n_steps"])[: row["label"] if row["label"] >= 0 else None]
        + [False] * (row["label"] >= 0)
    ]
    scores = [score for row in rows for score in row["step_scores_up_to_first_error"]]
    content = {"num_instances": len(rows), "y_pred_step_level": scores, "y_true_step_level": labels}
    path.write_text(json.dumps({"performance": {}, **content}))
    return str(path)


@pytest.fixture
def verifiers(data):
    path = data / "recorded" / "processbench_step_scores.jsonl"
    found = {}
    for row in lines_of(path):
        found.setdefault((row["model"], row["config"]), []).append(row)
    return found


def test_step_scores_in_the_files_of_fover(verifiers, tmp_path):
    folder = tmp_path / "performance" / "direct_evaluation"
    model = "Qwen2.5-Math-7B-PRM800K"
    files = [fover_file(folder, name, model, verifiers[model, name]) for name in ("gsm8k", "math")]
    [(name, run)] = recorded_runs(files, "processbench").items()
    expected = {
        row["id"]: row["step_scores_up_to_first_error"]
        for subset in ("gsm8k", "math")
        for row in verifiers[model, subset]
    }
    assert name == model
    assert {id: one.metadata["recorded"]["scores"] for id, one in run.samples.items()} == expected
    rows = verifiers[model, "gsm8k"][1:]
    moved = fover_file(tmp_path / "moved", "gsm8k", model, rows)
    with pytest.raises(DataError, match="are not those of the 249 rows of 'gsm8k'"):
        recorded_runs([moved], "processbench")


def test_verifiers_of_other_rows_stand_on_one_page(verifiers, tmp_path):
    """One has no rows of the subset that thresholds are tuned on."""
    folder = tmp_path / "performance" / "direct_evaluation"
    for (model, subset), rows in verifiers.items():
        if (model, subset) not in {
            ("Qwen2.5-Math-7B-PRM800K", "gsm8k"),
            ("Qwen2.5-72B-Instruct", "math"),
        }:
            fover_file(folder, subset, model, rows)
    assert dict(import_records(tmp_path / "performance", tmp_path / "logs")) == {
        "processbench_step_scores": 4
    }
    [found] = reference_runs(tmp_path / "logs")
    assert "Qwen2.5-Math-7B-PRM800K" not in found.thresholds
    assert len(found.thresholds) == 3
    page = tmp_path / "page.md"
    text = results_files([found], [], page)[page].decode()
    assert "(of 2 runs with the same rows)" in text
    assert "### processbench · gsm8k · version 1" in text


# ProcessBench


def test_critics_are_named_after_their_folders(tmp_path):
    row = {"id": "x-0", "problem": "1 + 1", "steps": ["1 + 1 = 2", "So 3."], "label": 1}
    files = [
        write_lines(
            tmp_path / critic / "math_error.jsonl",
            # Cut inside an emoji.
            [{**row, "generated_critique": f"\ud83d \\boxed{{{said}}}", "prediction": said}],
        )
        for said, critic in enumerate(("QwQ-32B", "Llama_voting"))
    ]
    imported = list(import_files(files, str(tmp_path / "logs")))
    assert models(imported) == ["QwQ-32B", "Llama_voting"]
    assert [one.differing for one in imported] == [[], []]
    answers = [samples_of(one)["x-0"].scores["first_error"].answer for one in imported]
    assert answers == ["0", "1"]
    assert samples_of(imported[0])["x-0"].output.completion.startswith("\ufffd ")
    packed = tmp_path / "QwQ-32B" / "math_error.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "QwQ-32B" / "math_error.jsonl").read_bytes()))
    [same] = import_files([str(packed)], str(tmp_path / "logs"))
    assert models([same]) == ["QwQ-32B"]
    assert samples_of(same)["x-0"].metadata["subset"] == "math"
    [joined] = import_files(files[:1], str(tmp_path / "logs"), model="mine")
    assert models([joined]) == ["mine"]
