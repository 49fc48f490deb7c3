"""Labelled trajectories become first-error rows, and bad ones are named."""

import json
from importlib.resources import files

import pytest

from misstep.loaders import load_rows, trajectory_dataset
from misstep.loaders._first_error import check_rows
from misstep.registry import DataError
from tests.support.agent_tools import holds, run_tool

MESSAGES = [
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": "Let me see."},
    {"role": "user", "content": "Well?"},
    {"role": "assistant", "content": "5"},
]
ROW = {"id": "x", "messages": MESSAGES, "step_labels": {"1": 0, "3": -1}}


def checked(**changes):
    rows, bad = check_rows([(1, {**ROW, **changes})])
    return rows, [str(one) for one in bad]


def test_the_label_is_the_ordinal_of_the_first_step_labelled_minus_one():
    [row], _ = checked()
    assert (row.label, row.problem) == (1, "2 + 2?")
    assert row.extra["step_labels"] == [0, -1]
    assert row.extra["message_index"] == [1, 3]
    assert row.extra["step_kinds"] == ["text", "text"]


def test_an_error_in_the_first_step_and_no_error_are_kept_apart():
    assert checked(step_labels={"1": -1, "3": 1})[0][0].label == 0
    assert checked(step_labels={"1": 0, "3": 1})[0][0].label == -1


def test_a_row_may_name_the_first_wrong_step_alone():
    own = {"id": "x", "messages": MESSAGES, "label": 1}
    [row], _ = check_rows([(1, own)])
    assert row.label == 1
    assert "step_labels" not in row.extra
    _, [problem] = check_rows([(1, {**own, "label": 2})])
    assert "labels are -1 or 0 to 1" in str(problem)


@pytest.mark.parametrize("labels", [{"1": "0", "3": "-1"}, {"1": 0.0, "3": -1.0}])
def test_labels_may_be_texts_of_numbers(labels):
    [row], bad = checked(step_labels=labels, query_index="3", final_label="-1")
    assert not bad
    assert (row.label, row.extra["step_labels"]) == (1, [0, -1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step_labels": {"1": 0, "2": 1}}, "message 2 is no assistant message of this row"),
        ({"step_labels": {"1": 0}}, "the assistant message 3 has no label"),
        ({"step_labels": {"one": 0}}, "keys must be places among the messages"),
        ({"step_labels": {"1": 0, "3": 2}}, "expected -1, 0 or 1; the value is 2"),
        ({"step_labels": {"1": 0, "3": None}}, "step_labels[3]: expected a whole number"),
        ({"step_labels": {"1": 0, "3": float("nan")}}, "step_labels[3]: expected a whole number"),
        ({"messages": [{"role": "user", "content": "?"}]}, "no assistant message"),
        ({"messages": [{"role": "boss", "content": "?"}]}, "messages[0] is not a chat message"),
        ({"messages": ["hello"]}, "messages[0] is not a chat message"),
    ],
)
def test_a_bad_row_is_refused_with_its_problem(changes, message):
    rows, bad = checked(**changes)
    assert rows == []
    assert message in bad[0]
    assert bad[0].startswith("row 1 ('x'):")


def test_the_published_ids_name_the_set_and_runs_of_one_query_are_a_cluster():
    raw = {"total_index": 503, "query_index": 0, "sample_index": 3, "step_labels": {"3": -1}}
    [row], _ = check_rows([(1, {**raw, "dataset": "bfcl"})])
    assert (row.id, row.subset, row.cluster, row.label) == ("bfcl-503", "bfcl", "bfcl-0", 0)


def test_calls_of_the_user_are_shown_as_evidence():
    """In tau2's telecom rows the user calls tools, too."""
    call = {"id": "c", "type": "function", "function": {"name": "reboot", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": 5},
        {"role": "assistant", "content": "Done."},
    ]
    [row], _ = checked(messages=messages, step_labels={"0": 1, "3": 1})
    assert row.steps[1] == "[user]\nreboot({})\n\n[tool result]\n5\n\n[step 1] assistant\nDone."


def test_tasks_of_several_turns_and_rows_without_tools():
    turns = [[{"role": "user", "content": "List the files."}]]
    [row], _ = checked(question=turns, tools=None)
    assert row.problem == json.dumps(turns)
    assert (row.extra["trajectory"]["question"], row.extra["trajectory"]["tools"]) == (turns, None)


def test_labels_alone_are_no_data_for_a_critic(real_data):
    with pytest.raises(DataError, match="nothing to show to a critic"):
        trajectory_dataset("agentprocessbench_labels", "bfcl")


def test_the_published_rows_are_read_as_counted(real_data):
    if not (real_data / "agentprocessbench" / "hotpotqa.jsonl").is_file():
        pytest.skip("the offline mirror has no agentprocessbench/hotpotqa.jsonl")
    rows = load_rows("agentprocessbench", "hotpotqa", needed=("trajectory",))
    labels = load_rows("agentprocessbench_labels", "hotpotqa", needed=("trajectory",))
    assert sum(len(row.steps) for row in rows) == 734
    assert [row.extra["step_labels"] for row in rows] == [x.extra["step_labels"] for x in labels]
    assert {row.cluster for row in rows} == {f"hotpotqa-{query}" for query in range(50)}


def bundled():
    path = files("misstep.loaders") / "embedded/agents.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_half_of_the_bundled_trajectories_have_an_error():
    rows = bundled()
    assert len(rows) == 24
    for subset in ("tools", "search", "code", "service"):
        own = [-1 in row["step_labels"].values() for row in rows if row["subset"] == subset]
        assert (len(own), sum(own)) == (6, 3)


def test_tool_results_of_the_bundled_trajectories_are_what_the_tools_return():
    for row in bundled():
        calls = {
            call["id"]: call["function"]
            for message in row["messages"]
            for call in message.get("tool_calls", ())
        }
        for message in row["messages"]:
            if message["role"] == "tool":
                call = calls[message["tool_call_id"]]
                result = run_tool(call["name"], json.loads(call["arguments"]), row["world"])
                assert message["content"] == result, row["id"]


def test_a_step_of_the_bundled_trajectories_is_wrong_if_and_only_if_a_claim_of_it_is_false():
    for row in bundled():
        labels = list(row["step_labels"].values())
        false = set()
        for claim in row["claims"]:
            true = holds(claim["says"], claim["is"], row["world"])
            assert true == (labels[claim["step"]] >= 0), (row["id"], claim)
            if not true:
                false.add(claim["step"])
        first = labels.index(-1) if -1 in labels else None
        assert min(false, default=None) == first, row["id"]
