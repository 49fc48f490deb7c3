"""`misstep find` names the first wrong step of one's own agents; so does the scanner."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextvars import copy_context
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai import Task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample, read_eval_log
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes
from inspect_ai.solver import basic_agent, system_message
from inspect_ai.tool import ToolCall, tool

from misstep.cli._main import cli
from misstep.loaders import transcript_dataset
from misstep.loaders._transcripts import is_failed
from misstep.registry import DataError
from misstep.reports import trust_lines
from tests.evals.test_agent_process import model_that
from tests.support.openai_server import Fault, Faults, OpenAIServer
from tests.support.runs import succeed


@tool
def add():
    async def execute(a: int, b: int) -> str:
        """Add two numbers.

        Args:
            a: A number.
            b: A number.
        """
        return str(a + b)

    return execute


def acting(messages, tools, tool_choice, config):
    """Act as an agent that adds 3 instead of 2 in the task `wrong`."""
    done = sum(message.role == "assistant" for message in messages)
    wrong = "2 + 2" in messages[1].text
    call = ("add", {"a": 2, "b": 3 if wrong else 1}) if done == 0 else ("submit", {"answer": "5"})
    if done == 1 and not wrong:
        call = ("submit", {"answer": "3"})
    output = ModelOutput.from_content("mockllm/model", "")
    output.choices[0].message = ChatMessageAssistant(
        content="<script>alert(1)</script>" if done else "I add.",
        tool_calls=[ToolCall(id=f"call-{done}", function=call[0], arguments=call[1])],
    )
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


@pytest.fixture
def agent_log(tmp_path) -> str:
    """Return the log of a real run of Inspect's basic agent with a scripted model."""
    samples = [
        Sample(id="wrong", input="What is 2 + 2?", target="4"),
        Sample(id="right", input="What is 2 + 1?", target="3"),
    ]
    agent = basic_agent(init=system_message("Use the tool."), tools=[add()], max_attempts=1)
    task = Task(dataset=samples, solver=agent, scorer=includes(), name="sums")
    model = get_model("mockllm/model", custom_outputs=acting, memoize=False)
    return succeed(task, tmp_path / "agents", model).location


def reply(request, choice):
    text = request.messages[-1]["content"]
    return r"It adds 3 instead of 2. \boxed{0}" if "2 + 2" in text else r"\boxed{-1}"


def find(arguments, tmp_path, monkeypatch, answer=reply):
    with OpenAIServer(answer) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        monkeypatch.setenv("LOCAL_API_KEY", "x")
        # Inspect caches models by name, but the next server has another address.
        options = [
            "--model",
            f"openai-api/local/{tmp_path.name}",
            "--log-dir",
            str(tmp_path / "logs"),
        ]
        # An eval set leaves its model as the active one of the context.
        run = partial(CliRunner().invoke, cli, catch_exceptions=False)
        return copy_context().run(run, ["find", *arguments, *options]), server


def test_only_failed_samples_are_looked_at_unless_all_are_asked_for(agent_log):
    assert [sample.id for sample in transcript_dataset(agent_log)] == ["wrong"]
    samples = transcript_dataset(agent_log, "all")
    assert {sample.id for sample in samples} == {"wrong", "right"}
    steps = {sample.id: sample.metadata["steps"] for sample in samples}["wrong"]
    assert 'add({"a": 2, "b": 3})' in steps[0]
    assert "[tool add]\n5" in steps[1]


def test_the_step_is_named_with_its_message_and_marked_on_a_page(agent_log, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    done, server = find([agent_log, "--all", "--json", "-o", str(page)], tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout[done.stdout.index("{") :])
    by_id = {one["id"]: one for one in found["samples"]}
    log = read_eval_log(agent_log)
    messages = {sample.id: sample.messages for sample in log.samples}["wrong"]
    assert by_id["wrong"]["step"] == 0
    assert messages[by_id["wrong"]["message"]].id == by_id["wrong"]["message_id"]
    assert "adds 3 instead of 2" in by_id["wrong"]["reason"]
    assert by_id["right"]["verdict"] == "none"
    assert "To find out: inspect eval misstep/agent_process" in found["trust"][0]
    html = page.read_text()
    assert html.count('class="wrong"') == 1
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert len(server.requests) == 2

    # The same command again keeps what is finished.
    again, server = find([agent_log, "--all", "--json"], tmp_path, monkeypatch)
    assert again.exit_code == 0
    assert len(server.requests) == 0


def test_the_price_is_printed_before_and_alone_on_request(agent_log, tmp_path, monkeypatch):
    done, server = find([agent_log, "--price"], tmp_path, monkeypatch)
    assert "1 transcripts, at most 1 calls, about" in " ".join(done.output.split())
    assert "unknown price" in done.output
    assert len(server.requests) == 0


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_is_resumed_and_no_answered_call_is_repeated(sent, tmp_path, monkeypatch):
    path = tmp_path / "own.jsonl"
    ask, act = {"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done."}
    rows = [{"id": f"t{i}", "messages": [ask, act | {"content": f"Done {i}."}]} for i in range(8)]
    path.write_text("\n".join(map(json.dumps, rows)))

    def asked(server):
        return [re.search(r"Done (\d)", request.text)[1] for request in server.requests]

    monkeypatch.setenv("LOCAL_API_KEY", "x")
    command = [Path(sys.executable).with_name("misstep"), "find", path, "--json"]
    command += ["--model", f"openai-api/local/{tmp_path.name}", "--log-dir", tmp_path / "logs"]
    failures = Faults(script=[None] * 4, rates={Fault.SERVER_ERROR: 1.0})
    with OpenAIServer(reply, faults=failures) as server:
        environment = {**os.environ, "LOCAL_BASE_URL": server.url}
        run = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        # Inspect repeats failed calls after seconds: by then, the answered ones are in the log.
        while len(server.requests) < 4 + 4 + 4:
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(sent)
        said = run.communicate()[1]
        if sent == signal.SIGINT:
            assert said.endswith(
                "Interrupted. Finished samples are kept: rerun the same command.\n"
            )
            assert run.returncode == 130
        answered = set(asked(server)[:4])
    done, server = find([str(path), "--json"], tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    assert sorted(asked(server)) == sorted({str(i) for i in range(8)} - answered)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert sorted(one["id"] for one in found["samples"]) == [f"t{i}" for i in range(8)]


def test_what_a_failed_tool_call_said_is_evidence(tmp_path):
    def acting(messages, tools, tool_choice, config):
        output = ModelOutput.from_content("mockllm/model", "")
        done = any(message.role == "assistant" for message in messages)
        call = ToolCall(id="1", function="add", arguments={"x": 2})
        output.choices[0].message = ChatMessageAssistant(
            content="I give up." if done else "I add.", tool_calls=None if done else [call]
        )
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    task = Task(
        dataset=[Sample(input="2 + 2?", target="4")], solver=react(tools=[add()], submit=False)
    )
    task.scorer = [includes()]
    model = get_model("mockllm/model", custom_outputs=acting, memoize=False)
    [sample] = transcript_dataset(succeed(task, tmp_path, model).location)
    assert "[tool add]\n[error: " in sample.metadata["steps"][1]
    assert "'a' is a required property" in sample.metadata["steps"][1]


def calls_of(arguments, tmp_path, monkeypatch):
    """Return the calls that `--price` counts, and those that a run makes."""
    done, _ = find([*arguments, "--price"], tmp_path, monkeypatch)
    run, server = find(arguments, tmp_path, monkeypatch, lambda *_: r"+ [Right] \boxed{-1}")
    assert run.exit_code == 0, run.output
    return int(re.search(r"at most (\d+)\s+calls", done.output)[1]), len(server.requests)


def test_the_price_counts_the_calls_of_windows(tmp_path, monkeypatch):
    path = tmp_path / "long.jsonl"
    turns = [{"role": "assistant", "content": f"{i} " + "word " * 400} for i in range(4)]
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Go"}, *turns]}))
    windows = calls_of([str(path), "--context", "3000"], tmp_path, monkeypatch)
    assert windows[0] == windows[1] > 1


def test_the_price_counts_the_calls_of_steps(agent_log, tmp_path, monkeypatch):
    assert calls_of([agent_log, "--critic", "stepwise"], tmp_path, monkeypatch) == (2, 2)


def test_rows_that_are_no_chat_are_named_counted_and_skipped(tmp_path, monkeypatch):
    path = tmp_path / "own.jsonl"
    good = {"id": "good", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}
    good["messages"].append({"role": "assistant", "content": "5"})
    bad = [{"text": "no chat"}, {"messages": [{"role": "king"}]}, {"messages": []}]
    lines = ["{broken", *map(json.dumps, [*bad, good])]
    path.write_text("\n".join(lines))
    done, server = find([str(path), "--json"], tmp_path, monkeypatch)
    assert done.exit_code == 0, done.output
    text = " ".join(done.stderr.split())
    assert "4 left out, because they cannot be judged: row 1: not valid JSON" in text
    assert "row 2: no messages" in text
    assert "row 3: messages[0] is not a chat message" in text
    assert "row-4: no assistant message" in text
    assert len(server.requests) == 1
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert len(found["left_out"]) == 4
    assert [one["id"] for one in found["samples"]] == ["good"]
    assert read_eval_log(found["log"]).eval.metadata["left_out"] == found["left_out"]


def test_an_unreadable_reply_is_unread_and_never_no_error(agent_log, tmp_path, monkeypatch):
    done, _ = find([agent_log, "--json"], tmp_path, monkeypatch, lambda request, choice: "Hm.")
    [found] = json.loads(done.stdout[done.stdout.index("{") :])["samples"]
    assert (found["verdict"], found["step"]) == ("unread", None)


def test_a_file_of_chat_messages_is_read_too(tmp_path):
    path = tmp_path / "own.jsonl"
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}
    path.write_text(json.dumps(row))
    [sample] = transcript_dataset(str(path))
    assert (sample.id, sample.input, sample.metadata["n_steps"]) == ("row-1", "Hi", 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "no chat"}, "row 1: no messages"),
        (
            {"messages": [{"role": "king"}]},
            r"row 1: messages\[0\] is not a chat message: `role` is .king.; it must be one of",
        ),
        ({"messages": [{"content": "x"}]}, r"a chat message: it has no `role`\."),
        ({"messages": ["x"]}, "a chat message: 'x' is no object with `role` and `content`"),
        (
            {"messages": [{"role": "tool", "content": "x", "tool_call_id": 7}]},
            "`tool_call_id` is 7; it must be a text",
        ),
        (
            {"id": "a\x00b", "messages": [{"role": "assistant", "content": "x"}]},
            r"id 'a\\x00b': U\+0000 at place 1 is a control character",
        ),
        (
            {"messages": [{"role": "user", "content": "x"}]},
            r"no row can be judged.* First: row-1: no assistant message\.$",
        ),
    ],
)
def test_bad_transcripts_get_one_message(row, message, tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(DataError, match=message):
        transcript_dataset(str(path))


def test_an_empty_file_and_a_log_without_failures_say_what_is_missing(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("\n")
    with pytest.raises(DataError, match=r"own\.jsonl: it has no rows\. Each line is an object"):
        transcript_dataset(str(path))
    model = get_model("mockllm/model", custom_outputs=acting, memoize=False)
    agent = basic_agent(init=system_message("Use the tool."), tools=[add()], max_attempts=1)
    task = Task(dataset=[Sample(input="2 + 1?", target="3")], solver=agent, scorer=includes())
    log = succeed(task, tmp_path, model)
    with pytest.raises(DataError, match=r"it has no failed sample\. For all samples: --all\.$"):
        transcript_dataset(log.location)


def test_a_repeated_or_unusable_id_is_left_out_by_its_row(tmp_path):
    path = tmp_path / "own.jsonl"
    messages = [{"role": "assistant", "content": "x"}]
    ids = ["a", "b\x00", "a", None]
    path.write_text("\n".join(json.dumps({"id": id, "messages": messages}) for id in ids))
    found = transcript_dataset(str(path))
    assert [sample.id for sample in found] == ["a", "row-4"]
    assert list(found.left_out) == ["row 2", "row 3"]
    assert "U+0000 at place 1 is a control character" in found.left_out["row 2"]
    assert found.left_out["row 3"].startswith("the id 'a' is that of row 1 already")


@pytest.mark.parametrize(
    ("values", "failed"),
    [
        (["C"], False),
        (["I"], True),
        (["P"], True),
        ([float("nan")], True),
        (["C", float("nan")], False),
        # The name of a category is no failure.
        (["C", "hard"], False),
        ([{"right": "yes", "set": "c", "no": None}, ["1.0"]], False),
        (["hard"], True),
        (["No", 1], True),
    ],
)
def test_a_sample_without_a_number_has_failed(values, failed, caplog):
    scores = {str(i): Score(value=value) for i, value in enumerate(values)}
    sample = EvalSample(id="a", epoch=1, input="x", target="y", scores=scores)
    assert is_failed(sample) == failed
    assert not caplog.records


def test_what_is_no_log_gets_one_message(tmp_path):
    path = tmp_path / "broken.eval"
    path.write_bytes(b"no zip")
    with pytest.raises(DataError, match="not an Inspect log"):
        transcript_dataset(str(path))


def test_trust_names_what_the_critic_scored(tmp_path):
    from misstep.evals import agent_process

    task = agent_process(source="agent_sample", critic="critique")
    succeed(task, tmp_path, model_that(lambda prompt: r"\boxed{-1}"))
    [line] = trust_lines("mockllm/model", "critique", str(tmp_path))
    assert "this critic has F1 0.0" in line
    assert "clears 100.0% of those without an error" in line
    [other] = trust_lines("mockllm/model", "labels", str(tmp_path))
    assert "To find out" in other


def test_the_scanner_names_the_step_with_a_reference_and_agrees_with_labels(tmp_path, monkeypatch):
    pytest.importorskip("inspect_scout")
    from inspect_ai.model import Model
    from inspect_scout import scan, scan_results_df, transcripts_from

    from misstep.scanners import first_error, replay_labelled, validation_set

    async def count_tokens(self, input, config=None):
        return 10  # the tokenizer would be downloaded

    monkeypatch.setattr(Model, "count_tokens", count_tokens)
    log = replay_labelled("agent_sample", "code", str(tmp_path / "labelled"))
    labels = {sample.metadata["steps"][-1]: sample.metadata["label"] for sample in log.samples}

    def answer(prompt):
        return next(rf"\boxed{{{label}}}" for text, label in labels.items() if text in prompt)

    # Scout leaves its model as the active one of the context.
    status = copy_context().run(
        scan,
        [first_error()],
        transcripts=transcripts_from(str(tmp_path / "labelled")),
        scans=str(tmp_path / "scans"),
        validation=validation_set(log),
        model="mockllm/model",
        model_roles={"critic": model_that(answer)},
        display="none",
        max_processes=1,
    )
    assert status.complete, status.errors
    frame = scan_results_df(status.location, scanner="first_error").scanners["first_error"]
    assert len(frame) == 6
    assert frame["validation_result"].astype(str).str.lower().eq("true").all()
    by_task = {row.transcript_task_id: row for row in frame.itertuples()}
    for sample in log.samples:
        row = by_task[sample.id]
        assert row.answer == str(sample.metadata["label"])
        if sample.metadata["has_error"]:
            index = sample.metadata["message_index"][sample.metadata["label"]]
            [reference] = json.loads(row.message_references)
            assert reference["id"] == f"m{index}"
            # Scout's viewer links only references that the explanation cites.
            assert reference["cite"] == f"[M{index + 1}]"
            assert row.explanation.startswith(f"Step {row.answer} (of 0 to ")
            assert reference["cite"] in row.explanation
        assert "boxed" not in row.explanation


def test_scout_finds_the_scanner_by_its_name():
    pytest.importorskip("inspect_scout")
    # As `scout scan misstep/first_error` looks it up: in a process that has not imported misstep.
    program = (
        "import inspect_scout; from inspect_ai.util import registry_create; "
        "print(registry_create('scanner', 'misstep/first_error', context=1000).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "scan"), done.stderr
