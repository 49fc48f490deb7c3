"""Marks against a real server, with and without a grader."""

import json
from dataclasses import replace

import pytest
from inspect_ai import eval as run_eval

from misstep.evals import mr_ben
from misstep.registry import DataError
from misstep.reports import benchmarks, compare, leaderboard, read_run
from tests.support.openai_server import OpenAIServer
from tests.support.runs import local_model, metrics_of, table_of

FIELDS = (
    "Solution Analysis: x\nSolution Correctness: {}\nFirst Error Step: {}\nError Reason: it is 4"
)


def solution(uuid, correctness, step, **other):
    return {
        "Question_UUID": uuid,
        "Subject": "college_physics",
        "Question": f"Question {uuid}?",
        "Options": "A: 1\nB: 2",
        "Sampled_Model": "m",
        "Model_Solution_Steps": ["Step 1: one", "", "more", "Step 2: two {x}", "Step 3: three"],
        "Model_Solution_Correctness": correctness,
        "Model_Solution_First_Error_Step": step,
        "Model_Solution_Error_Reason": ["2 + 2 is 4"],
        "Model_Solution_Rectified_First_Error_Step": "Step 2: four",
        **other,
    }


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "own.json"
    content = {
        "aaaaaaaa-0": [
            solution("aaaaaaaa-0", "incorrect", "2"),
            solution("aaaaaaaa-0", "correct", "N/A"),
        ],
        "bbbbbbbb-0": [
            solution("bbbbbbbb-0", "incorrect", "3"),
            solution("bbbbbbbb-0", "incorrect", "9"),
        ],
    }
    path.write_text(json.dumps(content))
    return str(path)


def reply(request, choice):
    if "Final Decision" in request.text:
        return "It does.\nFinal Decision: Correct"
    if "aaaaaaaa" in request.text:
        return FIELDS.format("incorrect", "Step 2")
    return FIELDS.format("correct", "N/A")


def test_without_a_grader_there_is_no_mr_score(serve, rows):
    log, server = serve(mr_ben(source=rows), reply)
    assert log.status == "success"
    assert len(server.requests) == 4
    body = server.requests[0].body
    assert (body["temperature"], body["top_p"]) == (0.0, 0.9)
    assert "Step 1: one\nmore\nStep 2: two {x}\nStep 3: three" in body["messages"][0]["content"]
    metrics = table_of(log, "marking")
    assert "mr_score" not in metrics
    assert "task3_accuracy" not in metrics
    assert metrics["task2_accuracy"] == pytest.approx(1 / 3)
    # The row whose number no step prints counts for correctness alone.
    assert metrics["error_accuracy"] == 0.5
    assert metrics["total_count"] == 4
    assert len(metrics) <= 15


def test_a_correct_solution_has_no_step_to_find(serve, rows):
    log, _ = serve(mr_ben(source=rows), reply)
    targets = {sample.id: sample.target for sample in log.samples}
    assert list(targets.values()).count("-1") == 1
    for sample in log.samples:
        for name in ("marking", "marking_published"):
            assert ("step" in sample.scores[name].value) == (sample.target != "-1")
    run = read_run(log.location)
    comparison = compare([run, replace(run, id="other", model="other")], resamples=100)
    values = {one.metric: one.first_value for one in comparison.contrasts}
    assert values == {
        "mark_correct_rate": 0.25,
        "first_error_correct_rate": 0.25,
        "step_correct_rate": pytest.approx(1 / 3),
    }
    frame = leaderboard(benchmarks([run])[0])
    assert frame.loc[0, "published_task2_accuracy"] == pytest.approx(1 / 3)


def test_a_grader_judges_the_reasons_of_right_steps(rows, tmp_path):
    with OpenAIServer(reply) as server:
        [log] = run_eval(
            mr_ben(source=rows),
            model=local_model(server),
            model_roles={"grader": local_model(server, "openai-api/local/grader")},
            log_dir=str(tmp_path / "logs"),
            display="none",
        )
        assert log.status == "success", log.error
        graded = [one for one in server.requests if "Final Decision" in one.text]
    assert len(graded) == 1
    assert "it is 4" in graded[0].text
    assert "2 + 2 is 4" in graded[0].text
    metrics = metrics_of(log, "marking")
    assert metrics["task3_accuracy"] == pytest.approx(1 / 3)
    mcc = max(0.0, metrics["mcc"])
    expected = 0.2 * mcc + 0.3 / 3 + 0.5 / 3
    assert metrics["mr_score"] == pytest.approx(expected)
    assert len(metrics) <= 15
    sample = next(one for one in log.samples if one.id.endswith("aaaaaaaa-0"))
    assert "openai-api/local/grader" in sample.scores["marking"].explanation


def test_the_published_prompt_is_asked_for_by_name(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="misstep data fetch mr_ben --wording"):
        mr_ben(source=rows, wording="published")


@pytest.mark.parametrize("refused", ["critic", "grader"])
def test_a_long_error_of_the_critic_or_the_grader_is_shortened(rows, tmp_path, refused):
    def refusing(request, choice):
        if request.body["model"] == refused:
            raise ValueError("x" * 8_000)
        return reply(request, choice)

    with OpenAIServer(refusing) as server:
        [log] = run_eval(
            mr_ben(source=rows),
            model=local_model(server),
            model_roles={"grader": local_model(server, "openai-api/local/grader")},
            log_dir=str(tmp_path / "logs"),
            display="none",
            limit=1,
        )
    assert log.status == "error"
    assert "characters left out" in log.error.message
    assert len(log.error.message) < 4_000
