"""Workers, as their parent sees them."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Self

_FORKS = sys.platform == "linux"
"""Elsewhere a process that has loaded libraries cannot be forked safely, or not at all."""
_TAIL = 2_000
"""Bytes of a worker's output that are told."""


class Workers:
    """Processes that run Inspect's command, each once; they end early if this one does.

    They are forked from a process that loads Inspect in the meantime, so that they start at once.
    """

    def __init__(self) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        self._nursery: subprocess.Popen[bytes] | None = None
        if _FORKS:
            self._control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            with theirs:
                self._nursery = subprocess.Popen(
                    [sys.executable, "-m", "misstep.runs"],
                    stdin=theirs.fileno(),
                    stdout=self._output,
                    stderr=subprocess.STDOUT,
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, arguments: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
        """Run Inspect's command; several threads may do so at once.

        Args:
            arguments: Of the command.
            env: What to add to its environment.

        Returns:
            The status that it ended with, and the end of what it said.
        """
        with tempfile.TemporaryFile() as output:
            if self._nursery is None:
                return _run_alone(arguments, env, output), _end(output)
            try:
                return self._run_forked(arguments, env, output), _end(output)
            except ConnectionError:
                # It died, or could not load Inspect, and its output says why.
                return self._nursery.wait(), _end(self._output)

    def _run_forked(
        self, arguments: Sequence[str], env: Mapping[str, str], output: IO[bytes]
    ) -> int:
        """Have a worker forked, and wait for it.

        Raises:
            ConnectionError: There is nobody to fork it.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(self._control, [b"."], [theirs.fileno(), output.fileno()])
            told = json.dumps({"arguments": list(arguments), "env": dict(env)})
            ours.sendall(told.encode() + b"\n")
            # Held open until then: the worker ends when it closes.
            status = ours.recv(16)
            if not status:
                raise ConnectionResetError
            return int(status)

    def close(self) -> None:
        """Leave nothing behind; a run that goes on is asked to stop, and waited for."""
        if self._nursery is not None:
            self._control.close()
            self._nursery.wait()
        self._output.close()


def _run_alone(arguments: Sequence[str], env: Mapping[str, str], output: IO[bytes]) -> int:
    with subprocess.Popen(  # noqa: S603 (a module of ours)
        [sys.executable, "-m", "misstep.runs", *arguments],
        env={**os.environ, **env},
        # Nothing is written; the worker ends when it closes.
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
    ) as process:
        return process.wait()


def _end(output: IO[bytes]) -> str:
    output.seek(0, 2)
    output.seek(max(0, output.tell() - _TAIL))
    return output.read().decode(errors="replace").strip()
