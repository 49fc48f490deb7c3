"""Runs the commands of the README as a user would: in a shell, in an empty home and folder."""

import os
import re
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from inspect_ai.log import list_eval_logs, read_eval_log

from tests.docs.commands import ROOT, commands
from tests.support.openai_server import OpenAIServer

DOWNLOADS = {
    r"inspect eval (evals/processbench\.py|misstep/processbench) ": "-T source=sample",
    r"inspect eval misstep/error-recovery\.small ": "-T source=generated",
    r"misstep estimate processbench ": "-T source=sample",
}
"""Commands whose rows must be downloaded, and the argument that selects bundled rows."""
SERVERS = r"inspect view"


class Shell:
    """A user's shell with an empty home, whose calls to OpenAI go to a local server."""

    def __init__(self, folder: Path, programs: Path, server: OpenAIServer) -> None:
        """Make the environment: nothing of the developer's own but the programs."""
        self.folder = folder
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
            "INSPECT_EVAL_LIMIT": "4",
        }

    def run_readme(self, without: str, clone: bool = False) -> list[str]:
        """Run the commands of the README that do not match `without`; return them.

        Outside of a clone a user writes `misstep/processbench` for `evals/processbench.py`.
        """
        ran = [c for c in commands(ROOT / "README.md") if not re.match(without, c)]
        if not clone:
            ran = [re.sub(r"\bevals/(\w+)\.py", r"misstep/\1", command) for command in ran]
        for command in ran:
            if re.match(SERVERS, command):
                self.serve(command)
            else:
                self.run(command)
        return ran

    def run(self, command: str) -> str:
        """Run a command, which must succeed, and so must the eval that it runs."""
        for start, argument in DOWNLOADS.items():
            if re.match(start, command):
                command = f"{command} {argument}"
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
        if command.startswith("inspect eval"):
            newest = list_eval_logs(str(self.folder / "logs"))[0]
            log = read_eval_log(newest, header_only=True)
            assert log.status == "success", f"{command}\n{done.stdout}"
            assert log.results.completed_samples > 0
        return done.stdout

    def serve(self, command: str) -> None:
        """Start a server until it answers."""
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
