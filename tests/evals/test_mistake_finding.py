"""Mistake finding: three ways of asking, and the baselines on all rows."""

import json
import re

import pytest

from misstep.evals import mistake_finding
from misstep.loaders import first_error_dataset
from misstep.samples import SolutionMetadata
from misstep.solvers import mistake_messages, read_step, read_trace
from misstep.verdicts import NO_ERROR, Unread
from tests.support.runs import metrics_of


@pytest.mark.parametrize(
    ("reply", "strict", "lenient"),
    [
        ("No", NO_ERROR, NO_ERROR),
        ("no.", NO_ERROR, NO_ERROR),
        ("4", 3, 3),
        ("4.", Unread.NOT_AN_INDEX, 3),
        ("Thought 4", Unread.NOT_AN_INDEX, 3),
        ("The first mistake is in Thought 4", Unread.NOT_AN_INDEX, 3),
        ("4 or 5", Unread.NOT_AN_INDEX, Unread.NOT_AN_INDEX),
        ("0", Unread.NOT_AN_INDEX, Unread.NOT_AN_INDEX),
        ("", Unread.EMPTY, Unread.EMPTY),
    ],
)
def test_replies_about_the_whole_trace(reply, strict, lenient):
    assert read_trace(reply, "strict") == strict
    assert read_trace(reply, "lenient") == lenient


def test_no_means_a_mistake_by_step_and_none_in_a_trace():
    assert read_step("No", "step", "strict") is False
    assert read_trace("No", "strict") == NO_ERROR
    assert read_step("Yes.", "step", "strict") is True
    assert read_step("Yes, it is", "step", "strict") == Unread.NOT_AN_INDEX
    assert read_step("Yes, it is", "step", "lenient") is True
    assert read_step("It is wrong.\nSo No", "step_cot", "strict") is False
    assert read_step("No doubt, it holds. Yes", "step_cot", "strict") is True
    assert read_step("So the answer is no, clearly", "step_cot", "strict") == Unread.NOT_AN_INDEX
    assert read_step("So the answer is no, clearly", "step_cot", "lenient") is False


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    content = [
        {"task": "a", "input": f"Input {i} {{steps}}", "steps": ["x", "y {input}", "z"]}
        | {"target": "t", "answer": "u", "mistake_index": label}
        for i, label in enumerate([1, None, 2])
    ]
    path.write_text("\n".join(map(json.dumps, content)))
    return str(path)


def test_the_whole_trace_is_one_question(serve, rows):
    def reply(request, choice):
        return {"0": "2", "1": "No", "2": "9"}[re.search(r"Input (\d)", request.text)[1]]

    log, server = serve(mistake_finding(source=rows), reply)
    assert log.status == "success"
    assert len(server.requests) == 3
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.0, 16)
    assert (
        "{steps}\n\nThought 1: x\nThought 2: y {input}\nThought 3: z\n" in server.requests[0].text
    )
    metrics = metrics_of(log, "mistake_location")
    assert metrics["accuracy"] == pytest.approx(2 / 3)
    assert metrics["said_no"] == pytest.approx(1 / 3)
    assert len(metrics) <= 15


@pytest.mark.parametrize(("calls", "requests"), [("sequential", 2 + 3 + 3), ("parallel", 9)])
def test_both_orders_of_steps_give_the_same_verdicts(serve, rows, calls, requests):
    def reply(request, choice):
        number = re.search(r"Input (\d)", request.text)[1]
        step = int(re.search(r"Is Thought (\d)", request.text)[1])
        return "No" if (number, step) in (("0", 2), ("2", 3)) else "Yes"

    log, server = serve(mistake_finding(source=rows, protocol="step", calls=calls), reply)
    assert len(server.requests) == requests
    assert metrics_of(log, "mistake_location")["accuracy"] == 1.0


def test_a_long_error_is_shortened(serve, rows):
    def refuse(request, choice):
        raise ValueError("x" * 8_000)

    log, _ = serve(mistake_finding(source=rows), refuse)
    assert log.status == "error"
    assert "characters left out" in log.error.message
    assert len(log.error.message) < 4_000


@pytest.fixture
def all_rows(real_data, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    return first_error_dataset("big_bench_mistake", order="published")


def test_baselines_on_all_rows(all_rows, figures):
    known = figures["big_bench_mistake"]
    assert len(all_rows) == 2186
    for task, figure in known.items():
        if task == "all":
            continue
        labels = [one.metadata["label"] for one in all_rows if one.metadata["subset"] == task]
        assert round(100 * labels.count(NO_ERROR) / len(labels), 2) == figure["always_no"]
        accuracy, step = figure["best_constant_step"]
        assert round(100 * labels.count(step - 1) / len(labels), 2) == accuracy
        steps = [
            len(one.metadata_as(SolutionMetadata).steps)
            for one in all_rows
            if one.metadata["subset"] == task
        ]
        assert sum(steps) == figure["steps"]
    assert len(first_error_dataset("big_bench_mistake", exclude_label_errors=True)) == 2155


def test_the_published_messages(all_rows, real_data):
    if not (real_data / "big_bench_mistake" / "mistake_finding_prompts.json").is_file():
        pytest.skip("the offline mirror has no mistake_finding_prompts.json")
    first = all_rows[0]
    steps = first.metadata["steps"]
    messages = mistake_messages("trace", "multistep_arithmetic", first.input, steps, "published")
    assert "".join(one.role[0] for one in messages) == "uuauauau"
    assert messages[-1].text.startswith(f"{first.input} ?\nThought 1: ")
    brackets = next(one for one in all_rows if one.metadata["subset"] == "dyck_languages")
    asked = mistake_messages("step", "dyck_languages", "{ {steps}", ["{input}"], "published")
    assert "{ {steps}" in asked[-1].text
    assert "Thought 1: {input}" in asked[-1].text
    assert brackets.input not in asked[-1].text
