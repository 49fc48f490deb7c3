"""A worker, as its parent sees it."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

_TAIL = 2_000
"""Bytes of a worker's output that are told."""


class Worker:
    """A process that loads Inspect, then runs its command once.

    It ends early if this process does, however that comes about.
    """

    def __init__(self) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "misstep.workers"],
            # Written to once, and then held open: the worker ends when it closes.
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def run(self, arguments: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
        """Have it run Inspect's command.

        Args:
            arguments: Of the command.
            env: What to add to its environment.

        Returns:
            The status that it ended with, and the end of what it said.
        """
        told = json.dumps({"arguments": list(arguments), "env": dict(env)})
        stdin = cast(BinaryIO, self._process.stdin)
        # One that has died already is told by its status.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(told.encode() + b"\n")
            stdin.flush()
        status = self._process.wait()
        self._output.seek(0, 2)
        self._output.seek(max(0, self._output.tell() - _TAIL))
        said = self._output.read().decode(errors="replace").strip()
        self.dismiss()
        return status, said

    def dismiss(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            cast(BinaryIO, self._process.stdin).close()
        self._output.close()
