"""The pages and the docstrings of task files name only commands, evals and arguments that exist."""

import inspect
import re
import shlex

import click
import pytest

import misstep
import misstep.evals
from misstep.cli._main import cli
from misstep.registry import evals, find_domain, find_prm, find_run_config, find_source
from tests.docs.commands import ROOT, commands

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "evals").glob("[a-z]*.py")),
]
COMMANDS = [
    pytest.param(command, id=f"{page.relative_to(ROOT)}: {command[:60]}")
    for page in PAGES
    for command in dict.fromkeys(commands(page))
]


EXAMPLE = re.compile(r"`~/.config/misstep/(\w+\.yaml)`[^`]*```yaml\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def example_registry(tmp_path, monkeypatch):
    """Use the registry that the page on registries shows."""
    page = (ROOT / "docs" / "registry.md").read_text(encoding="utf-8")
    for name, text in EXAMPLE.findall(page):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("MISSTEP_REGISTRY", str(tmp_path))


def test_the_example_of_a_registry_is_sound():
    arguments = evals()["processbench"].variants["circuits"].args
    assert find_source(arguments["source"]).home == "file"
    assert find_domain(arguments["domain"]).tag == "step"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_only_known_names(command):
    for name in re.findall(r"\$\(misstep configs (\S+)\)", command):
        find_run_config(name)
    for name in re.findall(r"prm/(?!my-)([\w.-]+)", command):
        find_prm(name)
    words = shlex.split(re.sub(r"\$\([^)]*\)", "FILE", command))
    if words[0] == "misstep":
        _check_misstep(words[1:])
    elif words[:2] == ["inspect", "eval"]:
        _check_eval(words[2:])


def _check_misstep(words):
    command, context = cli, click.Context(cli, info_name="misstep")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"no command {name}"
        context = click.Context(command, info_name=name, parent=context)
        context.ignore_unknown_options = command.context_settings.get("ignore_unknown_options")
    command.make_parser(context).parse_args(list(words))


def _check_eval(words):
    targets = [word for word in words if re.match(r"misstep/|evals/", word)]
    for target in targets:
        name = re.sub(r"^misstep/|^evals/(\w+\.py@)?|\.py$", "", target)
        base, _, variant = name.partition(".")
        task = getattr(misstep.evals, base.replace("-", "_"))
        if variant:
            known = evals()
            entry = known.get(base) or known[base.replace("_", "-")]
            assert variant in entry.variants, f"no variant {name}"
        given = {words[i + 1].partition("=")[0] for i, word in enumerate(words) if word == "-T"}
        critic_arguments = {"first", "last"}
        assert given <= inspect.signature(task).parameters.keys() | critic_arguments


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^::: [\w.]*\.(\w+)$", page, re.MULTILINE))
    assert set(misstep.__all__) - {"__version__"} <= described


def test_the_readme_is_short_and_its_links_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    missing = [a or b for a, b in links if not (ROOT / (a or b)).exists()]
    assert links
    assert missing == []
