"""Processes that run Inspect's command, from one that has loaded it."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from misstep.runs import Workers

WAITING = """
import os
from pathlib import Path

import anyio
from inspect_ai import Task, task
from inspect_ai.solver import solver

HERE = Path(__file__).parent


@task
def waiting():
    return Task(solver=wait())


@solver
def wait():
    async def solve(state, generate):
        (HERE / "told").write_text(os.environ.get("MISSTEP_TOLD", ""))
        if not (HERE / "told").read_text():
            (HERE / "pid").write_text(str(os.getpid()))
            try:
                await anyio.sleep(100)
            except BaseException:
                (HERE / "stopped").touch()
                raise
        return state

    return solve
"""
forks = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


@pytest.fixture(scope="module")
def workers():
    with Workers() as started:
        yield started


def children(pid):
    """The processes that this one started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]


def eventually(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return value


def is_alive(pid):
    # One that has ended, and that nobody has asked about, is still listed.
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def waiting(tmp_path):
    """The arguments of an eval that goes on until it is stopped, and tells of it by files."""
    (tmp_path / "waiting.py").write_text(WAITING, encoding="utf-8")
    options = ["--model", "mockllm/model", "--log-dir", str(tmp_path)]
    return ["eval", f"{tmp_path}/waiting.py@waiting", *options]


def test_inspects_command_is_run_and_how_it_ended_is_told(workers):
    status, said = workers.run(["info", "version"], {})
    assert status == 0
    assert version("inspect_ai") in said


def test_a_command_that_fails_is_told_with_what_it_said(workers):
    status, said = workers.run(["no-such-command"], {})
    assert status == 2
    assert "No such command 'no-such-command'" in said


def test_the_environment_is_added_to_for_one_run_only(workers, waiting, tmp_path):
    for told in ("yes", "no"):
        assert workers.run(waiting, {"MISSTEP_TOLD": told})[0] == 0
        assert (tmp_path / "told").read_text() == told
    assert "MISSTEP_TOLD" not in os.environ


def test_several_run_at_once_and_each_is_told_its_own_end(workers):
    commands = [["info", "version"], ["no-such-1"], ["no-such-2"], ["info", "version"]]
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda arguments: workers.run(arguments, {}), commands))
    assert [status for status, _ in ends] == [0, 2, 2, 0]
    assert ["no-such-1" in said for _, said in ends] == [False, True, False, False]


def test_arguments_may_be_long(workers):
    long = "x" * 100_000
    status, said = workers.run(["info", long], {})
    assert status == 2
    assert long[:1000] in said


@forks
def test_a_worker_that_is_killed_is_told_by_its_status_and_the_others_go_on(waiting, tmp_path):
    with Workers() as workers, ThreadPoolExecutor(1) as pool:
        run = pool.submit(workers.run, waiting, {})
        assert eventually((tmp_path / "pid").exists)
        [worker] = children(workers._nursery.pid)
        assert workers.run(["info", "version"], {})[0] == 0
        os.kill(worker, signal.SIGKILL)
        assert run.result()[0] == -signal.SIGKILL
        assert workers.run(["info", "version"], {})[0] == 0


@forks
def test_where_workers_cannot_be_had_the_reason_is_told(tmp_path, monkeypatch):
    (tmp_path / "inspect_ai").mkdir()
    (tmp_path / "inspect_ai" / "__init__.py").write_text("raise ImportError('no such luck')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Workers() as workers:
        status, said = workers.run(["info", "version"], {})
        assert workers.run(["info", "version"], {})[0] == status
    assert status == 1
    assert "no such luck" in said


@forks
def test_a_run_that_goes_on_is_stopped_when_the_parent_is_killed(waiting, tmp_path):
    program = f"from misstep.runs import Workers; Workers().run({waiting!r}, {{}})"
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        assert eventually((tmp_path / "pid").exists)
        [nursery] = children(parent.pid)
        parent.kill()
    assert eventually((tmp_path / "stopped").exists)
    assert eventually(lambda: not is_alive(nursery))
    assert not is_alive(int((tmp_path / "pid").read_text()))


@forks
def test_a_key_pressed_to_stop_reaches_the_run_and_its_end_is_told(waiting, tmp_path):
    program = (
        "import os, signal\n"
        "from misstep.runs import Workers\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"with Workers() as workers: print(workers.run({waiting!r}, {{}})[0])"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert eventually((tmp_path / "pid").exists)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stdout.read() == b"0\n"
    assert (tmp_path / "stopped").exists()
    [log] = tmp_path.glob("*.eval")
    assert read_eval_log(str(log), header_only=True).status == "cancelled"


def test_without_forking_each_loads_inspect_itself(waiting, tmp_path, monkeypatch):
    monkeypatch.setattr("misstep.runs._workers._FORKS", False)
    with Workers() as workers:
        assert workers.run(waiting, {"MISSTEP_TOLD": "yes"})[0] == 0
        assert (tmp_path / "told").read_text() == "yes"
        status, said = workers.run(["no-such-command"], {})
    assert status == 2
    assert "No such command 'no-such-command'" in said


def test_starting_them_loads_nothing_here():
    program = "import misstep.runs, sys; print('inspect_ai' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.strip() == "False"
