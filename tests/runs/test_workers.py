"""Processes that run Inspect's command, forked from one that has loaded it."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

from misstep.runs._workers import MISTAKE, run_command, run_in_worker

WAITING = """
import atexit
import gc
import logging
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
        (HERE / "text").write_text(os.environ.get("MISSTEP_TEXT", ""))
        (HERE / "frozen").write_text(str(gc.get_freeze_count() > 100_000))
        (HERE / "traced").write_text(str(logging.getLogger("inspect_ai").isEnabledFor(13)))
        atexit.register((HERE / "ended").touch)
        if not (HERE / "text").read_text():
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


def children(pid):
    """Return the processes that this one started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in text.split()]


def eventually(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return value


def is_alive(pid):
    # A process that has ended is listed until its parent asks for its status.
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def run_inspect(arguments, env=None):
    return run_in_worker(run_command, arguments, env=env)


@pytest.fixture
def waiting(tmp_path):
    """Return the arguments of an eval that runs until it is stopped, and writes files about it."""
    (tmp_path / "waiting.py").write_text(WAITING, encoding="utf-8")
    options = ["--model", "mockllm/model", "--log-dir", str(tmp_path)]
    return ["eval", f"{tmp_path}/waiting.py@waiting", *options]


def test_inspects_command_is_run_and_its_status_is_returned():
    status, output = run_inspect(["info", "version"])
    assert status == 0
    assert version("inspect_ai") in output


def test_a_model_of_an_unknown_provider_is_one_line():
    arguments = ["eval", "misstep/processbench.sample", "--model", "nope/x", "--display", "none"]
    status, output = run_inspect(arguments)
    assert status == MISTAKE
    assert output.startswith("Model API nope of model 'nope/x' not recognized. Write provider/name")


def test_a_mistake_of_the_user_is_its_message_without_traceback_and_markup(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    arguments = ["eval", "misstep/processbench.sample", "--display", "none", "--model"]
    status, output = run_inspect([*arguments, "openai/gpt-4o-mini"])
    assert status == MISTAKE
    assert "No OPENAI_API_KEY" in output
    assert "Traceback" not in output
    assert "[bold]" not in output


def test_a_command_that_fails_is_returned_with_its_output():
    status, output = run_inspect(["no-such-command"])
    assert status == 2
    assert "No such command 'no-such-command'" in output


def test_the_environment_is_added_to_for_one_run_only(waiting, tmp_path):
    for text in ("yes", "no"):
        assert run_inspect(waiting, {"MISSTEP_TEXT": text})[0] == 0
        assert (tmp_path / "text").read_text() == text
    assert "MISSTEP_TEXT" not in os.environ


def test_a_worker_has_the_environment_of_now_not_of_the_fork_server(waiting, tmp_path, monkeypatch):
    run_inspect(["info", "version"])
    monkeypatch.setenv("MISSTEP_TEXT", "later")
    assert run_inspect(waiting)[0] == 0
    assert (tmp_path / "text").read_text() == "later"


def test_several_run_at_once_and_each_has_its_own_end():
    commands = [["info", "version"], ["no-such-1"], ["no-such-2"], ["info", "version"]]
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(run_inspect, commands))
    assert [status for status, _ in ends] == [0, 2, 2, 0]
    assert ["no-such-1" in output for _, output in ends] == [False, True, False, False]


def test_arguments_may_be_long():
    long = "x" * 100_000
    status, output = run_inspect(["info", long])
    assert status == 2
    assert long[:1000] in output


@forks
def test_a_worker_that_is_killed_has_the_signal_as_status_and_the_others_continue(
    waiting, tmp_path
):
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(run_inspect, waiting)
        assert eventually((tmp_path / "pid").exists)
        assert run_inspect(["info", "version"])[0] == 0
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert run.result()[0] == -signal.SIGKILL
        assert run_inspect(["info", "version"])[0] == 0


@forks
def test_inspect_is_loaded_by_the_fork_server_and_not_by_each_worker(waiting, tmp_path):
    assert run_inspect(waiting, {"MISSTEP_TEXT": "yes"})[0] == 0
    assert (tmp_path / "frozen").read_text() == "True"
    assert (tmp_path / "traced").read_text() == "False"


@forks
def test_a_worker_traces_its_calls_if_a_level_is_set(waiting, tmp_path):
    assert run_inspect(waiting, {"MISSTEP_TEXT": "yes", "INSPECT_LOG_LEVEL": "trace"})[0] == 0
    assert (tmp_path / "traced").read_text() == "True"


def test_where_inspect_cannot_be_loaded_the_reason_is_returned(tmp_path):
    (tmp_path / "inspect_ai").mkdir()
    (tmp_path / "inspect_ai" / "__init__.py").write_text("raise ImportError('no such luck')")
    program = (
        "from misstep.runs._workers import run_command, run_in_worker\n"
        "print(run_in_worker(run_command, ['info', 'version']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("(1,"), done.stderr
    assert "no such luck" in done.stdout


@forks
def test_a_run_is_stopped_when_the_parent_is_killed(waiting, tmp_path):
    program = (
        "from misstep.runs._workers import run_command, run_in_worker\n"
        f"run_in_worker(run_command, {waiting!r})"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        assert eventually((tmp_path / "pid").exists)
        helpers = children(parent.pid)
        assert helpers
        parent.kill()
    assert eventually((tmp_path / "stopped").exists)
    for process in (int((tmp_path / "pid").read_text()), *helpers):
        assert eventually(lambda process=process: not is_alive(process))


@forks
def test_ctrl_c_reaches_the_run_which_saves_its_log(waiting, tmp_path):
    program = (
        "import os, signal\n"
        "from misstep.runs._workers import run_command, run_in_worker\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"print(run_in_worker(run_command, {waiting!r})[0])"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert eventually((tmp_path / "pid").exists)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stdout.read() == b"0\n"
    assert (tmp_path / "stopped").exists()
    [log] = tmp_path.glob("*.eval")
    assert read_eval_log(str(log), header_only=True).status == "cancelled"


def test_what_is_registered_for_the_end_of_the_process_is_run(waiting, tmp_path):
    assert run_inspect(waiting, {"MISSTEP_TEXT": "yes"})[0] == 0
    assert (tmp_path / "ended").exists()


def test_without_a_fork_server_each_worker_loads_inspect(waiting, tmp_path, monkeypatch):
    monkeypatch.setattr("misstep.runs._workers._START_METHOD", "spawn")
    assert run_inspect(waiting, {"MISSTEP_TEXT": "yes"})[0] == 0
    assert (tmp_path / "text").read_text() == "yes"
    status, output = run_inspect(["no-such-command"])
    assert status == 2
    assert "No such command 'no-such-command'" in output


def test_starting_the_fork_server_loads_nothing_here():
    program = (
        "import sys\n"
        "from misstep.runs import start_fork_server\n"
        "start_fork_server()\n"
        "print('inspect_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_a_log_is_the_same_with_and_without_a_worker(tmp_path):
    from inspect_ai import eval as run_task

    name, critic = "misstep/processbench.sample", {"critic": "no_error"}
    arguments = ["eval", name, "-T", "critic=no_error", "--model", "mockllm/model", "--limit", "4"]
    status, output = run_inspect([*arguments, "--log-dir", str(tmp_path)])
    assert status == 0, output
    [path] = tmp_path.glob("*.eval")
    ours = read_eval_log(str(path))
    [theirs] = run_task(
        name,
        task_args=critic,
        model="mockllm/model",
        limit=4,
        log_dir=str(tmp_path / "other"),
        display="log",
    )
    theirs = read_eval_log(theirs.location)
    assert ours.results.scores == theirs.results.scores
    for mine, other in zip(ours.samples, theirs.samples, strict=True):
        assert [event.event for event in mine.events] == [event.event for event in other.events]
        assert (mine.id, mine.metadata, mine.messages[0].text) == (
            other.id,
            other.metadata,
            other.messages[0].text,
        )
    assert len(read_eval_log_sample_summaries(str(path))) == 4
