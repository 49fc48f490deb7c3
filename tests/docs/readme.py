"""Runs the commands of the README as a user would: in a shell, in an empty home and folder."""

import os
import re
import shlex
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from inspect_ai.log import EvalLogInfo, list_eval_logs, read_eval_log

from tests.docs.commands import ROOT, commands
from tests.support.commands import Command, run_in_one_process
from tests.support.openai_server import OpenAIServer

CHANGES = {
    r"inspect eval (evals/processbench\.py|misstep/processbench) ": "-T source=sample",
    r"inspect eval misstep/error-recovery\.small ": "-T source=generated",
    r"misstep estimate processbench ": "-T source=sample",
    r"misstep demo$": "--embedded 2",
}
"""Commands whose rows must be downloaded or that take long, and an argument against that."""
SERVERS = r"inspect view"


class Shell:
    """A user's shell with an empty home, whose calls to OpenAI go to a local server."""

    def __init__(self, folder: Path, programs: Path, server: OpenAIServer) -> None:
        """Make the environment: nothing of the developer's own but the programs."""
        self.folder = folder
        self.python = str(programs / "python")
        (folder / "home").mkdir()
        self.env = {
            "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "local",
            "HF_HUB_OFFLINE": "1",
            "INSPECT_DISPLAY": "plain",
        }

    def run_readme(self, without: str) -> dict[str, str]:
        """Run the commands of the README that do not match `without`; return their outputs.

        All must succeed, and so must the evals that they run.
        """
        listed = [one for one in commands(ROOT / "README.md") if not re.match(without, one)]
        ending = [one for one in listed if not re.match(SERVERS, one)]
        ends = run_in_one_process([self._command(one) for one in ending], self.env, self.python)
        for command, end in zip(ending, ends, strict=True):
            assert end.status == 0, f"{command}\n{end.output}"
        logs = [read_eval_log(one, header_only=True) for one in self._logs()]
        assert {log.status for log in logs} == {"success"}
        assert all(log.results.completed_samples for log in logs)
        assert len(logs) >= sum(one.startswith("inspect eval") for one in ending)
        for command in listed:
            if re.match(SERVERS, command):
                self.serve(command)
        return {command: end.output for command, end in zip(ending, ends, strict=True)}

    def _logs(self) -> list[EvalLogInfo]:
        return list_eval_logs(str(self.folder / "logs"))

    def _command(self, command: str) -> Command:
        # A baseline is fast, and the README shows its result on all rows.
        limit = {} if "--model none" in command else {"INSPECT_EVAL_LIMIT": "4"}
        return Command(shlex.split(self.changed(command)), self.folder, limit)

    def changed(self, command: str) -> str:
        """Return the command with the argument that makes it affordable here."""
        for start, argument in CHANGES.items():
            if re.match(start, command):
                return f"{command} {argument}"
        return command

    def run(self, command: str) -> str:
        """Run a command, which must succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def serve(self, command: str) -> None:
        """Start a server, and stop it when it has answered."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [*command.split(), "--port", str(port)]
        with subprocess.Popen(words, cwd=self.folder, env=self.env, stdout=-3) as server:
            try:
                assert _answers(f"http://127.0.0.1:{port}/", server)
            finally:
                server.terminate()


def _answers(url: str, server: "subprocess.Popen[bytes]") -> bool:
    """Return whether the server answers before it ends."""
    while server.poll() is None:
        try:
            with urllib.request.urlopen(url) as answer:  # noqa: S310 (a local address)
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.1)
    return False
