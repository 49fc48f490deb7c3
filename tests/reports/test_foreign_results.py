"""Recorded outputs of other projects are recognised, and give the published figures."""

import json

import pytest
from inspect_ai.log import read_eval_log

from misstep.registry import DataError
from misstep.reports import import_files
from misstep.scorers import read_judged_step, read_judged_step_published
from tests.support.runs import metrics_of


def percent(value: float) -> float:
    return round(100 * value, 2)


def samples_of(imported):
    return read_eval_log(imported.log.location).samples


@pytest.fixture
def data(real_data, monkeypatch):
    for name in ("prmbench/r_prm_scores.jsonl", "mathcheck/gpt-3.5-turbo.json", "mr_math"):
        if not (real_data / name).exists():
            pytest.skip(f"the offline mirror has no {name}")
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    return real_data


@pytest.mark.parametrize(
    ("threshold", "key", "first"),
    [
        (None, "recorded_labels", (36.45, 70.99, 48.17)),
        (0.5, "threshold_0_5", (39.53, 85.19, 54.0)),
    ],
)
def test_scores_of_r_prm(data, figures, tmp_path, threshold, key, first):
    path = str(data / "prmbench" / "r_prm_scores.jsonl")
    [imported] = import_files([path], str(tmp_path), threshold=threshold)
    assert (imported.format, imported.missing) == ("R-PRM's step scores", [])
    assert imported.log.eval.task == "misstep/prmbench"
    strict = metrics_of(imported.log, "step_validity")
    expected = figures["prmbench"][key]
    assert percent(strict["prmscore"]) == expected["overall"]["prmscore"]
    for group in ("simplicity", "soundness", "sensitivity"):
        assert percent(strict[group]) == pytest.approx(expected[group], abs=0.011)
    hits = {True: [], False: []}
    for sample in samples_of(imported):
        hits[sample.target == "-1"].append(sample.scores["first_error"].value == "C")
    error, correct = (sum(hits[which]) / len(hits[which]) for which in (False, True))
    got = [percent(x) for x in (error, correct, 2 * error * correct / (error + correct))]
    assert got == pytest.approx(first, abs=0.01)


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gemini-1.5-pro-latest"])
def test_predictions_of_mathcheck(data, figures, tmp_path, model):
    path = str(data / "mathcheck" / f"{model}.json")
    [imported] = import_files([path], str(tmp_path))
    assert imported.format == "MathCheck's predictions"
    assert imported.log.eval.model.endswith(model)
    expected = figures["mathcheck"][model]
    published = metrics_of(imported.log, "process_judging_published")
    assert percent(published["process_judging"]) == expected["published"]["process_judging"]
    assert published["none_count"] == expected["published"]["none"]
    assert published["all_correct_count"] == expected["published"]["all_correct"]
    ours = metrics_of(imported.log, "first_error")
    assert percent(ours["error_accuracy"]) == expected["ours"]["error_accuracy"]
    for kind in ("seed_question", "scenario_understanding"):
        samples = [one for one in samples_of(imported) if one.metadata["subset"] == kind]
        right = sum(one.scores["first_error"].value == "C" for one in samples)
        assert percent(right / len(samples)) == expected["ours"][kind]
        right = sum(one.scores["process_judging_published"].value == "C" for one in samples)
        assert percent(right / len(samples)) == expected["published"][kind]
    unread = sum(one.scores["first_error"].answer is None for one in samples_of(imported))
    assert unread == expected["ours"]["unread"]


def test_critiques_of_mr_math(data, figures, tmp_path):
    path = str(data / "mr_math" / "gpt4_invalid_eval_results.json")
    [imported] = import_files([path], str(tmp_path))
    assert imported.format == "ReasonEval's critiques"
    expected = figures["mr_math"]["gpt4"]["invalid"]
    published = metrics_of(imported.log, "meta_reasoning_published")
    for level in ("solution_macro_f1", "step_macro_f1"):
        assert percent(published[level]) == expected["published"][level]
    ours = metrics_of(imported.log, "first_error")
    for name, key in (("error_accuracy",) * 2, ("correct_accuracy",) * 2, ("f1_score", "f1")):
        assert percent(ours[name]) == expected["ours"][key]


def test_critiques_of_redundant_steps(data, figures, tmp_path):
    path = str(data / "mr_math" / "gpt4_redundant_eval_results.json")
    [imported] = import_files([path], str(tmp_path))
    assert imported.format == "ReasonEval's critiques of redundant steps"
    published = metrics_of(imported.log, "redundancy_published")
    expected = figures["mr_math"]["gpt4"]["redundant"]["published"]
    for level in ("solution_macro_f1", "step_macro_f1"):
        assert percent(published[level]) == expected[level]
    # PRMBench's rule pools the same counts.
    ours = metrics_of(imported.log, "step_validity")
    assert ours["prmscore"] == pytest.approx(published["step_macro_f1"])


def test_an_incomplete_file_of_mathcheck_is_refused(data, tmp_path):
    rows = json.loads((data / "mathcheck" / "gpt-3.5-turbo.json").read_text())[:-1]
    path = tmp_path / "part.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(DataError, match="515 rows of process judging; the benchmark has 516"):
        list(import_files([str(path)], str(tmp_path)))


@pytest.mark.parametrize(
    ("reply", "ours", "published"),
    [
        ("The answer is: **Step 3**", 3, "Step 3"),
        ("Bad.\nThe answer is:\n\nStep 3", 3, "Step 3"),
        ("The answer is: STEP 3", 3, "STEP 3"),
        ("Step 3 is correct.", None, "Step 3"),
        ("All steps are correct.", None, "All-Correct"),
        ("Hm", None, None),
    ],
)
def test_both_readings_of_mathcheck(reply, ours, published):
    assert read_judged_step(reply) == ours
    assert read_judged_step_published(reply) == published
