"""Recorded outputs as the model of a whole eval."""

import json

import pytest

from misstep.evals.processbench import processbench
from tests.support.runs import metrics_of, run_task, succeed


def replay(tmp_path, own_file, records, **options):
    path = tmp_path / "outputs.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    task = processbench(source=str(own_file), **options)
    return run_task(task, tmp_path / "logs", f"replay/{path}")


def boxed(*indices):
    return [rf"\boxed{{{index}}}" for index in indices]


def answers(log):
    assert log.status == "success", log.error
    return {sample.id: sample.scores["first_error"].answer for sample in log.samples}


def test_recorded_critiques_are_scored_like_fresh_ones(tmp_path, own_file):
    texts = {"a": r"\boxed{0}", "b": r"\boxed{-1}", "c": "?"}
    log = replay(tmp_path, own_file, [{"id": i, "text": text} for i, text in texts.items()])
    assert answers(log) == {"a": "0", "b": "-1", "c": None}
    assert metrics_of(log)["error_accuracy"] == 0.5


@pytest.mark.parametrize("adaptive", [False, True])
def test_recorded_votes_are_taken_in_their_order(tmp_path, own_file, adaptive):
    votes = {"a": boxed(0, 1, 1, 1), "b": boxed(1, -1, 0, -1), "c": boxed(2, 2, 0, 0)}
    log = replay(
        tmp_path,
        own_file,
        [{"id": i, "texts": texts} for i, texts in votes.items()],
        votes=4,
        adaptive=adaptive,
    )
    assert answers(log) == {"a": "1", "b": "-1", "c": "2"}


@pytest.mark.parametrize("calls", ["sequential", "parallel"])
def test_recorded_steps_are_found_by_their_number(tmp_path, own_file, calls):
    signs = {"a": "-", "b": "++", "c": "++-"}
    records = [
        {"id": i, "step": step, "text": sign}
        for i, row in signs.items()
        for step, sign in enumerate(row)
    ]
    log = replay(tmp_path, own_file, records, critic="stepwise", style="single_token", calls=calls)
    assert answers(log) == {"a": "0", "b": "-1", "c": "2"}


@pytest.mark.parametrize("style", ["plain", "single_token"])
@pytest.mark.parametrize("calls", ["sequential", "parallel"])
def test_recorded_scores_judge_each_step(tmp_path, own_file, calls, style):
    scores = {"a": [0.25], "b": [1, 0.5], "c": [0.9, 0.8, 0]}
    records = [{"id": i, "scores": row} for i, row in scores.items()]
    log = replay(tmp_path, own_file, records, critic="stepwise", style=style, calls=calls)
    assert answers(log) == {"a": "0", "b": "-1", "c": "2"}
    for sample in log.samples:
        judged = [step["probability"] for step in sample.store["CriticVerdict:steps"]]
        assert judged == pytest.approx(scores[sample.id])


@pytest.mark.parametrize(
    ("scores", "says"),
    [([1.0], "has 1 scores, and the task asks about step 1"), ([3.5, 1], "is not a probability")],
)
def test_scores_that_cannot_judge_a_step_are_named(tmp_path, own_file, scores, says):
    records = [{"id": i, "scores": scores if i == "b" else [1, 1, 1]} for i in "abc"]
    log = replay(tmp_path, own_file, records, critic="stepwise")
    assert log.status == "error"
    assert says in log.error.message


def test_a_missing_record_is_an_error_that_names_the_id(tmp_path, own_file):
    log = replay(tmp_path, own_file, [{"id": "a", "text": "x"}])
    assert log.status == "error"
    assert "nothing is recorded for id 'b'" in log.error.message


@pytest.mark.usefixtures("embedded_model_installed")
def test_the_embedded_model_runs_an_eval_end_to_end(tmp_path):
    log = succeed(
        processbench(source="sample", domain="generic", votes=2),
        tmp_path,
        "embedded/smollm2",
        limit=1,
        max_tokens=6,
    )
    [sample] = log.samples
    assert len(sample.output.choices) == 2
    assert sample.output.usage.output_tokens <= 12
    assert metrics_of(log)["truncated"] == 1.0
