"""The folder in which the process started.

Inspect makes a task inside the task file's folder, so there a user's relative path would mean
another file than in their shell. This module is imported from the entry point, before that.
"""

from pathlib import Path

_START = Path.cwd()


def from_start(path: str) -> Path:
    """A user's path, relative to where they started; only if not there, to where we are now."""
    given = Path(path).expanduser()
    started = _START / given
    return given.absolute() if given.exists() and not started.exists() else started
