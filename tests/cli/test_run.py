"""`misstep run`: interrupted, resumed, and light until the fork server has started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from misstep.runs import SplitRun
from tests.support.openai_server import OpenAIServer, short

MISSTEP = Path(sys.executable).with_name("misstep")


def wait_for(server, requests, process):
    while len(server.requests) < requests:
        assert process.poll() is None, "the run ended early"
        time.sleep(0.05)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, uses process groups")


def test_after_ctrl_c_the_command_says_how_to_resume_and_no_answered_call_is_repeated(tmp_path):
    environment = {**os.environ, "LOCAL_API_KEY": "x"}
    with OpenAIServer(short, latency=250) as server:
        command = [
            *(MISSTEP, "run", "misstep/processbench.sample", "--limit", "24"),
            *("--model", "openai-api/local/critic", "--model-base-url", server.url),
            *("--max-connections", "2", "--log-buffer", "1", "--log-dir", tmp_path),
        ]
        with subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as run:
            wait_for(server, 6, run)
            os.killpg(run.pid, signal.SIGINT)
            message = run.stderr.read()
        assert run.returncode == 130
        [folder] = tmp_path.glob("*.shards")
        assert f"Interrupted. Resume: misstep run --resume {folder}" in message
        assert len(server.requests) < 24

        again = [MISSTEP, "run", "--resume", folder, "--max-connections", "8"]
        done = subprocess.run(again, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        log = read_eval_log(SplitRun.open(str(folder)).location)
        assert len({sample.id for sample in log.samples}) == len(log.samples) == 24
        assert len(server.requests) <= 24 + 2, "only calls without an answer are repeated"


def test_a_worker_that_is_killed_is_named_with_the_command_to_resume(tmp_path):
    environment = {**os.environ, "LOCAL_API_KEY": "x"}
    with OpenAIServer(short, latency=250) as server:
        command = [
            *(MISSTEP, "run", "misstep/processbench.sample", "--limit", "20"),
            *("--model", "openai-api/local/critic", "--model-base-url", server.url),
            *("--max-connections", "2", "--log-buffer", "1", "--log-dir", tmp_path),
        ]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as run:
            wait_for(server, 6, run)
            helpers = _children(run.pid)
            [worker, _] = [one for helper in helpers for one in _children(helper)]
            os.kill(worker, signal.SIGKILL)
            message = run.stderr.read()
        assert run.returncode == 1
        assert "ended with status -9" in message
        [folder] = tmp_path.glob("*.shards")
        assert f"Resume: misstep run --resume {folder}" in message
        again = [MISSTEP, "run", "--resume", folder]
        assert subprocess.run(again, env=environment, capture_output=True).returncode == 0
        log = read_eval_log(SplitRun.open(str(folder)).location)
        assert len({sample.id for sample in log.samples}) == len(log.samples) == 20
        assert len(server.requests) <= 20 + 2, "only calls without an answer are repeated"


def _children(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]


def test_the_command_loads_nothing_large_before_the_fork_server_starts():
    program = "import misstep.cli._run, sys; print('inspect_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
