"""Files of the project agree with each other: workflows, versions, templates, task files."""

import ast
import re
import tomllib

import pytest
import yaml

from tests.docs.commands import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z]+):.*## \w", MAKEFILE, re.MULTILINE)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TASK_FILES = sorted((ROOT / "evals").glob("[a-z]*.py"))


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_makes_targets_that_exist(path):
    made = [
        target
        for job in read(path)["jobs"].values()
        for step in job["steps"]
        if (command := step.get("run", "")).startswith("make ")
        for target in command.split()[1:]
    ]
    assert made
    assert set(made) <= set(TARGETS)


def test_uv_and_the_tools_that_it_runs_are_pinned():
    lines = MAKEFILE.replace("\\\n", " ").splitlines()
    by_pip = [line for line in lines if "pip install" in line and "$(UV) pip install" not in line]
    assert all("--require-hashes" in line for line in by_pip)
    tools = re.findall(r"tool run (\S+)", MAKEFILE)
    assert tools
    assert all(re.fullmatch(r"[\w-]+@[\d.]+", tool) for tool in tools)
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(pip|pipx|uvx?|curl|wget)\s", text), path.name


def test_the_tests_run_on_every_python_that_the_package_names():
    matrix = read(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [c.rpartition(" ")[2] for c in PYPROJECT["classifiers"] if ":: 3." in c]
    assert matrix == named


def test_a_release_is_published_without_a_stored_token():
    publish = read(".github/workflows/release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_an_issue_template_has_what_the_forge_needs(path):
    if path.stem != "config":
        template = read(path)
        assert {"name", "description", "body"} <= template.keys()
        assert all({"type", "id", "attributes"} <= field.keys() for field in template["body"])


def test_versions_agree():
    citation = read("CITATION.cff")
    assert (citation["version"], citation["license"]) == (
        PYPROJECT["version"],
        PYPROJECT["license"],
    )
    assert f"version = {{{PYPROJECT['version']}}}" in (ROOT / "docs/reference/cite.md").read_text()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    hook = read(".pre-commit-config.yaml")["repos"][0]
    assert f"\nruff=={hook['rev'].removeprefix('v')} " in lock


@pytest.mark.parametrize("path", TASK_FILES, ids=lambda path: path.stem)
def test_a_task_file_states_its_protocol_and_metric(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert "\nProtocol: " in text
    assert "\nMetric: " in text
    assert "\ninspect eval " in text
