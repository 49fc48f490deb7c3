"""Real worker processes against a real server: runs that end early, and go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from misstep.registry import DataError, MisstepError
from misstep.runs import EvalCommand, Job, SplitRun, Workers, local_processes, run_shard
from tests.support.openai_server import OpenAIServer, short

EVAL = "misstep/processbench.sample"


@pytest.fixture
def server():
    with OpenAIServer(short, latency=30) as server:
        yield server


@pytest.fixture
def slow_server():
    """Slow enough that a worker on a busy machine ends before its samples do."""
    with OpenAIServer(short, latency=250) as server:
        yield server


def planned(tmp_path, url, *options, count=2, limit="40"):
    command = EvalCommand.parse(
        EVAL,
        [],
        limit,
        ["--model", "openai-api/local/critic", "--model-base-url", url, *options],
    )
    return SplitRun.create(command, count, str(tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        EvalCommand(eval=EVAL, options=("-M", "api_key=sk-planted")),
        EvalCommand(eval=EVAL, options=("-M", "api-key=sk-planted")),
        EvalCommand(eval=EVAL, options=("--model-role", "reward={model: a, api_key: sk-planted}")),
        EvalCommand(eval=EVAL, options=("--model-role", '{"a": {"api_key": "sk-planted"}}')),
        EvalCommand(eval=EVAL, config={"model": {"model": "a", "args": {"api_key": "sk-planted"}}}),
        EvalCommand(
            eval=EVAL,
            config={"generate_config": {"extra_headers": {"Authorization": "Bearer sk-planted"}}},
        ),
    ],
)
def test_a_key_is_refused_before_it_is_written_down(tmp_path, command):
    with pytest.raises(MisstepError, match="OPENAI_API_KEY") as refusal:
        SplitRun.create(command, 1, str(tmp_path))
    assert "sk-planted" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "x")


def test_a_run_whose_parent_is_killed_goes_on_where_it_was(tmp_path, slow_server):
    server = slow_server
    slowly = ("--max-connections", "1", "--log-buffer", "1")
    run = planned(tmp_path, server.url, *slowly, count=1, limit="30")
    parent = subprocess.Popen(
        [Path(sys.executable).with_name("misstep"), "run", "--resume", run.folder],
        stdout=subprocess.DEVNULL,
    )
    while len(server.requests) < 10:
        assert parent.poll() is None, "the run ended before it was killed"
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    asked = _settled(server)
    assert asked < 30, "the workers ended with their parent"

    with Workers() as workers:
        assert run_shard(run.folder, 0, workers) is None
    log = read_eval_log(run.join().location)
    assert sorted(s.id for s in log.samples) == sorted(log.eval.dataset.sample_ids)
    assert len(log.samples) == 30
    assert run.left() == []
    again = len(server.requests) - 30
    assert again <= 4, f"{again} answered calls were made again"


def _settled(server):
    """How many requests came in all, once no more come."""
    count = -1
    while count != len(server.requests):
        count = len(server.requests)
        time.sleep(1)
    return count


def test_a_shard_that_fails_is_named_and_the_others_are_kept(tmp_path, server):
    run = planned(tmp_path, server.url, "--no-such-option", count=2, limit="4")
    [(job, problem)] = local_processes(1)([Job(run.folder, 0)])
    assert job.shard == 0
    assert "ended with the status 2" in problem
    assert "--no-such-option" in problem
    with pytest.raises(MisstepError, match=r"not joined, .*shard 0 \(samples 1-2\)"):
        run.join()
    assert not Path(run.location).exists()


def test_a_folder_without_a_plan_is_refused(tmp_path):
    with pytest.raises(DataError, match="no split run"):
        SplitRun.open(str(tmp_path))


def test_a_folder_that_cannot_be_written_is_named(tmp_path, server):
    (tmp_path / "file").write_text("")
    command = EvalCommand.parse(EVAL, [], "2", [])
    with pytest.raises(MisstepError, match="cannot write to"):
        SplitRun.create(command, 2, os.fspath(tmp_path / "file"))
