"""Processes that load Inspect before they know what to run."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from io import BytesIO, TextIOWrapper

from misstep.workers import Worker
from misstep.workers.__main__ import _told


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_runs_inspects_command_and_tells_how_it_ended():
    status, said = Worker().run(["info", "version"], {})
    assert status == 0
    assert version("inspect_ai") in said


def test_a_command_that_fails_is_told_with_what_it_said():
    status, said = Worker().run(["no-such-command"], {})
    assert status == 2
    assert "No such command 'no-such-command'" in said


def test_what_is_told_is_the_arguments_and_additions_to_the_environment(monkeypatch):
    line = json.dumps({"arguments": ["eval", "x"], "env": {"MISSTEP_TOLD": "yes"}}).encode()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(line + b"\n"), encoding="utf-8"))
    monkeypatch.setenv("MISSTEP_TOLD", "no")
    assert _told() == ["eval", "x"]
    assert os.environ["MISSTEP_TOLD"] == "yes"


def test_one_that_died_is_told_by_its_status():
    worker = Worker()
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    assert worker.run(["info", "version"], {}) == (-signal.SIGKILL, "")


def test_one_that_is_dismissed_is_gone_and_may_be_dismissed_again():
    worker = Worker()
    worker.dismiss()
    worker.dismiss()
    assert not is_alive(worker._process.pid)


def test_one_that_was_told_nothing_ends_with_its_parent():
    program = (
        "from misstep.workers import Worker; import os; "
        "print(Worker()._process.pid, flush=True); os._exit(0)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    pid = int(said.stdout)
    deadline = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_alive(pid)


def test_starting_one_loads_nothing_here():
    program = "import misstep.workers, sys; print('inspect_ai' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.strip() == "False"
