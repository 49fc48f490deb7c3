"""DeltaBench's first-error task against a real server."""

import json
import logging
import math
from hashlib import sha256

import pytest

from misstep.evals.deltabench import deltabench
from misstep.registry import MisstepError
from tests.support.openai_server import Fault, Faults
from tests.support.rows import delta_row
from tests.support.runs import table_of


@pytest.fixture
def rows(tmp_path):
    """Some rows of DeltaBench's form: two with an error, one without."""
    contents = [
        delta_row("d-0", errors=[3, 2]),
        delta_row("d-1", task_l1="code"),
        delta_row("d-2", errors=[1], task_l1="code"),
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, contents)), encoding="utf-8")
    return str(path)


def votes(request, choice):
    return rf"\boxed{{{[1, -1, 1, 0, 0, 1, 2, 2][choice]}}}"


def test_eight_votes_at_07_are_one_request_a_sample(serve, rows):
    log, server = serve(deltabench(source=rows), votes)
    assert log.status == "success"
    assert [request.choices for request in server.requests] == [8] * 3
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.7, 4096, 42)
    assert body["messages"][0]["content"].startswith("The following is a problem and a solution")
    assert "<paragraph_0>\nFirst.\n</paragraph_0>" in body["messages"][0]["content"]
    assert {sample.scores["first_error"].answer for sample in log.samples} == {"1"}
    got = table_of(log)
    assert (got["error_accuracy"], got["correct_accuracy"]) == (0.5, 0.0)
    assert (got["math_error_accuracy"], got["code_error_accuracy"]) == (1.0, 0.0)
    assert math.isnan(got["math_correct_accuracy"])
    assert log.samples[0].metadata["error_type"] == "Calculation Error"


def test_the_published_rows_run(serve, real_data):
    path = real_data / "deltabench" / "Deltabench_v1.jsonl"
    if not path.is_file():
        pytest.skip("the mirror has no rows of DeltaBench")
    accept = sha256(path.read_bytes()).hexdigest()
    log, server = serve(deltabench(accept=accept), votes)
    assert [request.choices for request in server.requests] == [8] * 7
    # Three of the seven have their first error in the second section.
    assert table_of(log)["math_error_accuracy"] == pytest.approx(3 / 7)
    assert log.eval.task_version == 1
    assert log.eval.dataset.name == "deltabench"


def test_sixty_sections_of_a_hundred_thousand_characters_pass(serve, tmp_path):
    texts = [f"{i}: {{tagged_response}} \\boxed{{}} " + "x" * 1700 for i in range(60)]
    assert sum(map(len, texts)) > 100_000
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps(delta_row(texts=texts, errors=[60])), encoding="utf-8")
    log, server = serve(deltabench(source=str(path), votes=1), lambda *_: r"\boxed{59}")
    [sample] = log.samples
    assert sample.metadata["steps"] == texts
    assert (sample.metadata["section_count"], sample.target) == (60, "59")
    assert all(text in server.requests[0].text for text in texts)
    assert table_of(log)["error_accuracy"] == 1.0


@pytest.mark.parametrize("options", [{}, {"votes": 1}, {"adaptive": True}])
def test_a_prompt_that_is_too_long_counts_as_truncated(serve, rows, options):
    faults = Faults(script=[Fault.CONTEXT_LENGTH] * 3)
    log, server = serve(deltabench(source=rows, **options), votes, faults=faults)
    assert log.status == "success"
    got = table_of(log)
    assert (got["truncated"], got["unparsed"], got["total_count"]) == (1.0, 0.0, 3)
    assert {s.scores["first_error"].reason for s in log.samples} == {"truncated"}
    # To ask again, or for the other votes, would be refused again.
    assert len(server.requests) == 3


def test_long_prompts_are_warned_of_before_the_run(rows, caplog):
    with caplog.at_level(logging.WARNING):
        deltabench(source=rows, context=100_000)
        assert "exceed" not in caplog.text
        deltabench(source=rows, context=150)
    assert "3 of 3 prompts are estimated to exceed the context of 150 tokens" in caplog.text


def test_other_critics_are_not_voted_on_unless_told_to(rows):
    assert deltabench(source=rows, critic="no_error").config.temperature is None
    with pytest.raises(MisstepError, match="votes go with critic=critique"):
        deltabench(source=rows, critic="no_error", votes=8)


def test_a_row_whose_error_is_nowhere_can_be_scored(serve, tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text(json.dumps(delta_row(errors=[9])), encoding="utf-8")
    log, _ = serve(deltabench(source=str(path), votes=1), lambda *_: r"\boxed{-1}")
    [sample] = log.samples
    assert (sample.scores["first_error"].value, log.status) == ("I", "success")
    assert sample.metadata["annotation_problems"] == ["section 9 is not one of its sections 1 to 3"]
