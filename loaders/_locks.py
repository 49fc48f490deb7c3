"""Locks of folders, so that two commands do not do the same work at once.

The operating system holds the lock and releases it when the process ends, however it ends: there
are no stale locks. The lock file says who holds it. Folders of other computers (`s3://…`) and
systems without such locks are not locked.
"""

import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import EACCES, EAGAIN
from pathlib import Path

from misstep.registry import DataError, MisstepError

logger = logging.getLogger(__name__)

LOCK_FILE = ".misstep.lock"


@contextmanager
def folder_lock(folder: str | Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder inside the `with` block.

    If another process holds it, wait for it, or raise an error that says who it is.
    """
    place = str(folder).removeprefix("file://")
    if "://" in place:
        yield
        return
    path = Path(place) / LOCK_FILE
    is_new = not path.parent.exists()
    file = _locked(path, wait)
    try:
        yield
    finally:
        if file is not None:
            # Before the lock is released: another process may lock a new file of that name next.
            path.unlink(missing_ok=True)
            os.close(file)
        if is_new:
            with suppress(OSError):  # It stays if it holds anything.
                path.parent.rmdir()


def _locked(path: Path, wait: bool) -> int | None:
    """Return the open file that holds the lock; None if this system cannot lock files there."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # Another process has just deleted the empty folder.
            continue
        except OSError as problem:
            raise DataError(
                f"{path.parent}: cannot be written ({problem.strerror}). "
                "Choose a folder that can be written: -o DIR, or --log-dir DIR for logs."
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno not in (EAGAIN, EACCES):
                os.close(file)  # This file system has no locks.
                return None
            holder = _holder(file)
            if not wait:
                os.close(file)
                raise MisstepError(
                    f"{path.parent}: in use by {holder}. Wait until it ends, then run the same "
                    "command again; or choose another folder."
                ) from None
            logger.warning("%s: in use by %s. Waiting until it ends.", path.parent, holder)
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file, path):
            record = {"pid": os.getpid(), "host": socket.gethostname()}
            record["since"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            os.truncate(file, 0)
            os.pwrite(file, json.dumps(record).encode(), 0)
            return file
        os.close(file)  # The holder before deleted it.


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False


def _holder(file: int) -> str:
    """Return who holds a lock, in words. The content of the file is not trusted."""
    try:
        record = json.loads(os.pread(file, 1000, 0))
        return f"process {record['pid']} on {record['host']} since {record['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
