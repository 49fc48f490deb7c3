"""Temporary folders. Folders that a killed process left behind are removed at the next start."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: abandoned folders are not removed.
    fcntl = None  # type: ignore[assignment]

_PREFIX = "misstep-"
_LOCK = ".lock"
"""The process that uses a folder locks this file. The system ends the lock with the process."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, and remove it at the end."""
    _remove_abandoned_once()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / _LOCK).open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder


def remove_abandoned() -> None:
    """Remove the folders of this user whose processes are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                # A folder without this file is new: its process has not made the file yet.
                with (folder / _LOCK).open("r+") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)


@cache
def _remove_abandoned_once() -> None:
    if fcntl is not None:
        remove_abandoned()
