"""PRMBench against a real server: one reply for all steps, judges and reward models."""

import json
import re

import pytest

from misstep.evals import prmbench
from misstep.registry import DataError, MisstepError, UnknownNameError
from misstep.solvers import step_scores_messages
from tests.support.runs import metrics_of, table_of

ROWS = [
    {
        "idx": f"prm_test_p1_{i}",
        "classification": kind,
        "modified_question": f"Question {i}?",
        "modified_process": ["1. First.", "Step 2. Second {x}.", "Third."],
        "error_steps": errors,
    }
    for i, (kind, errors) in enumerate(
        [("circular", [2]), ("confidence", [3, 9]), ("multi_solutions", []), ("deception", [1])]
    )
]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return str(path)


def reply(request, choice):
    number = int(re.findall(r"Question (\d)", request.text)[-1])
    return {
        # Circular reasoning is judged by redundancy: the second step is called redundant.
        0: '{"validity": [1, 1, 1], "redundancy": [-1, 0.5, -1]}',
        1: '```json\n{"validity": [1, 1, -1], "redundancy": [1, 1, 1]}\n```',
        2: '{"validity": [0.2, 0.1, 0], "redundancy": [-1, -1, -1]}',
        3: "I cannot say.",
    }[number]


def test_one_reply_scores_all_steps(serve, rows):
    log, server = serve(prmbench(source=rows), reply)
    assert log.status == "success"
    body = server.requests[0].body
    assert [one["role"] for one in body["messages"]] == ["system", "user"]
    assert body["temperature"] == 0
    assert "Step 2: Step 2. Second {x}." in body["messages"][1]["content"]
    samples = {sample.metadata["subset"]: sample for sample in log.samples}
    strict = {name: one.scores["step_validity"] for name, one in samples.items()}
    assert strict["circular"].metadata["labels"] == [True, False, True]
    assert samples["circular"].scores["first_error"].value == "C"
    assert strict["confidence"].value["tn"] == 1
    assert strict["multi_solutions"].value["fn"] == 1
    assert strict["deception"].metadata["unread"] == "not_structured"
    assert strict["deception"].value["fp"] == 1
    assert strict["deception"].value["fn"] == 2
    metrics = table_of(log, "step_validity")
    tp, fp, tn, fn = 2 + 2 + 2, 1, 2, 1 + 2
    f1, negative = 2 * tp / (2 * tp + fp + fn), 2 * tn / (2 * tn + fp + fn)
    assert metrics["prmscore"] == pytest.approx((f1 + negative) / 2)
    assert metrics["unparsed"] == 0.25
    published = table_of(log, "step_validity_published")
    assert published["step_count"] == 9
    assert len(metrics) <= 15


def test_every_step_is_judged_also_after_a_wrong_one(serve, rows):
    task = prmbench(source=rows, critic="stepwise", style="plain")
    log, server = serve(task, lambda request, choice: r"\boxed{wrong}")
    assert len(server.requests) == 12
    assert metrics_of(log, "step_validity")["prmscore"] == pytest.approx((0 + 2 * 3 / 15) / 2)


def test_a_reward_model_labels_by_its_threshold(serve, rows):
    task = prmbench(source=rows, critic="reward", style="plain", threshold=0.4)
    log, _ = serve(task, lambda request, choice: r"\boxed{right}")
    scores = [sample.scores["step_validity"] for sample in log.samples]
    assert all(one.metadata.get("labels", [True]) == [True] * 3 for one in scores)


def test_the_published_prompt_has_two_examples_and_strips_numbers(tmp_path, monkeypatch):
    class Words:
        def text(self, name):
            return "SYSTEM"

        def value(self, name):
            return [["q1", "a1"], ["q2", "a2"]]

    monkeypatch.setattr("misstep.solvers._step_labels.published_wording", lambda name: Words())
    messages = step_scores_messages("Q?", ["1. First.", "step 2. Second.", "Third."], "published")
    roles = [message.role for message in messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[-1].text == (
        "Question: Q?\n\n Solutions: Step 1: First. \n\nStep 2: Second. \n\nStep 3: Third. \n\n"
    )


def test_wrong_arguments_are_refused(rows, tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="wording 'publishd'"):
        prmbench(source=rows, wording="publishd")
    with pytest.raises(MisstepError, match="threshold"):
        prmbench(source=rows, threshold=0.5)
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="misstep data fetch prmbench --wording"):
        prmbench(source=rows, wording="published")
    with pytest.raises(DataError, match="solutions with all their wrong steps"):
        prmbench(source="processbench")
