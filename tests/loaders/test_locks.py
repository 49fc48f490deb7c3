"""One command at a time in a folder. A lock ends with its process, however that ends."""

import json
import os
import signal
import subprocess
import sys
import threading
from errno import ENOENT
from pathlib import Path

import pytest

from misstep.loaders import folder_lock
from misstep.loaders._files import LOCK_FILE
from misstep.registry import MisstepError

HOLDER = """
import sys, time
from misstep.loaders import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_is_told_who_holds_the_lock(tmp_path, holder):
    with (
        pytest.raises(MisstepError, match=rf"in use by process {holder.pid} on .* since 2"),
        folder_lock(tmp_path),
    ):
        pass


def test_the_lock_of_a_killed_process_holds_nobody_up(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK_FILE).exists()
    with folder_lock(tmp_path):
        assert json.loads((tmp_path / LOCK_FILE).read_text())["pid"] == os.getpid()
    assert not (tmp_path / LOCK_FILE).exists()


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"[]", b'{"pid": 1}', b"{" * 100_000])
def test_a_lock_file_that_somebody_else_wrote_is_no_lock(tmp_path, content):
    (tmp_path / LOCK_FILE).write_bytes(content)
    with folder_lock(tmp_path):
        pass


def test_waiting_for_a_lock_ends_when_it_is_released(tmp_path):
    order = []
    held = threading.Event()

    def second():
        with folder_lock(tmp_path, wait=True):
            order.append("second")

    thread = threading.Thread(target=second)
    with folder_lock(tmp_path):
        thread.start()
        held.wait(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_folder_elsewhere_is_not_locked():
    with folder_lock("memory://logs"), folder_lock("memory://logs"):
        pass


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(MisstepError, match="cannot be written"),
        folder_lock(tmp_path / "file/logs"),
    ):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    def mkdir(*_, **__):
        raise FileNotFoundError(ENOENT, "No such file or directory")

    # As in /proc, where no folder can be made.
    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(MisstepError, match="cannot be written"), folder_lock(tmp_path / "logs"):
        pass
