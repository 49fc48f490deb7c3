"""`misstep run`: stopped, resumed, and light until the fork server has started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from misstep.runs import SplitRun
from tests.support.openai_server import OpenAIServer, short

MISSTEP = Path(sys.executable).with_name("misstep")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, uses process groups")


def start(command):
    return subprocess.Popen(
        command,
        env={**os.environ, "LOCAL_API_KEY": "x"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_run_is_stopped_in_three_ways_and_no_answered_call_is_repeated(tmp_path):
    """By Ctrl-C, by the kill of a worker, and by the kill of the command itself."""
    with OpenAIServer(short) as server:
        command = [
            *(MISSTEP, "run", "misstep/processbench.sample", "--limit", "24"),
            *("--model", "openai-api/local/critic", "--model-base-url", server.url),
            *("--max-connections", "2", "--log-buffer", "1", "--log-dir", tmp_path),
        ]
        server.hold_after(4)
        with start(command) as run:
            server.wait_for_held(2, run)
            os.killpg(run.pid, signal.SIGINT)
            message = run.stderr.read()
        assert run.returncode == 130
        [folder] = tmp_path.glob("*.shards")
        assert f"Interrupted. Resume: misstep run --resume {folder}" in message

        server.hold_after(4)
        with start([MISSTEP, "run", "--resume", folder]) as run:
            server.wait_for_held(2, run)
            helpers = _children(run.pid)
            [worker, _] = [one for helper in helpers for one in _children(helper)]
            os.kill(worker, signal.SIGKILL)
            server.wait_for_held(1, run)
            # The other worker finishes its shard.
            server.release()
            message = run.stderr.read()
        assert run.returncode == 1
        assert "ended with status -9" in message
        assert f"Resume: misstep run --resume {folder}" in message
        assert len(SplitRun.open(str(folder)).unfinished()) == 1

        server.hold_after(2)
        with start([MISSTEP, "run", "--resume", folder, "--max-connections", "1"]) as run:
            server.wait_for_held(1, run)
            run.kill()
        # The worker ends by itself when it sees that its parent is gone.
        server.wait_for_disconnect()
        server.release()

        with start([MISSTEP, "run", "--resume", folder, "--max-connections", "8"]) as run:
            assert run.wait() == 0, run.stderr.read()
        again = len(server.requests) - 24
        assert again == 2 + 1 + 1, f"{again} calls were made again: only four had no answer"
    finished = SplitRun.open(str(folder))
    assert finished.unfinished() == []
    log = read_eval_log(finished.location)
    assert sorted(s.id for s in log.samples) == sorted(log.eval.dataset.sample_ids)
    assert len({sample.id for sample in log.samples}) == len(log.samples) == 24


def _children(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]


def test_the_command_loads_nothing_large_before_the_fork_server_starts():
    program = "import misstep.cli._run, sys; print('inspect_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
