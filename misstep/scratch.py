"""Temporary folders. Those that killed processes left are removed at the next start."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: such folders stay there.
    fcntl = None  # type: ignore[assignment]

_PREFIX = "misstep-"
_LOCK = ".lock"
"""The process that uses a folder holds this lock. It ends with the process, however that ends."""


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
                # A folder without the lock is new: its process has not come to it yet.
                with (folder / _LOCK).open("r+") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)


@cache
def _remove_abandoned_once() -> None:
    if fcntl is not None:
        remove_abandoned()
