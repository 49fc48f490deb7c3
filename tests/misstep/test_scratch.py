"""Temporary folders do not outlive their processes for long."""

import signal
import subprocess
import sys

from misstep.scratch import remove_abandoned, scratch_folder

HOLD = """
from misstep.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "part").write_text("x")
    print(folder, flush=True)
    input()
"""


def test_a_folder_is_removed_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as folder:
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_new_process_removes_the_folder_of_a_killed_one(tmp_path):
    def start():
        return subprocess.Popen(
            [sys.executable, "-c", HOLD],
            env={"TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with start() as first:
        left = first.stdout.readline().strip()
        first.kill()
        first.wait()
    with start() as second:
        own = second.stdout.readline().strip()
        assert own != left
        assert [str(path) for path in tmp_path.iterdir()] == [own]
        second.communicate("\n")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    new, elsewhere = tmp_path / "misstep-new", tmp_path / "other"
    for folder in (new, elsewhere):
        folder.mkdir()
    (elsewhere / ".lock").touch()
    (tmp_path / "misstep-link").symlink_to(elsewhere)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, scratch_folder() as own:
        left = process.stdout.readline().strip()
        remove_abandoned()
        assert {own.name, left.rpartition("/")[2]} <= {path.name for path in tmp_path.iterdir()}
        process.send_signal(signal.SIGKILL)
        process.wait()
        remove_abandoned()
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {own.name, "misstep-new", "misstep-link", "other"}
        assert (elsewhere / ".lock").exists()
