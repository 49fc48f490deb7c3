"""One command line: options mean the same everywhere, tables fit 80 columns, JSON is JSON."""

import json

import click
import pytest
from click.testing import CliRunner

from misstep.cli._main import cli


def commands(group=cli, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())
OPTIONS = [
    (path, option)
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
]
WITHOUT_TABLE = {
    ("board",),
    ("data", "fetch"),
    ("export",),
    ("forge", "make"),
    ("forge", "report"),
    ("plot", "recovery"),
    ("prm", "new"),
    ("reference",),
    ("report",),
    ("study",),
    ("submit",),
}


def run(*arguments):
    result = CliRunner().invoke(cli, [*map(str, arguments)], env={"COLUMNS": "80"})
    assert not result.exception, result.output
    return result.stdout


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=lambda value: str(value))
def test_every_option_says_what_it_does(path, option):
    assert option.help, f"{path}: {option.name}"
    assert option.help[0].isupper(), f"{path}: {option.name}"
    assert option.help.rstrip().endswith((".", "…")), f"{path}: {option.name}"


def test_an_option_has_one_spelling_and_one_kind_of_value():
    kinds = {}
    for path, option in OPTIONS:
        kind = (tuple(option.opts), option.is_flag, type(option.type), option.nargs)
        for spelling in option.opts:
            known, first = kinds.setdefault(spelling, (kind, path))
            assert kind == known, f"{spelling}: {path} differs from {first}"


def test_a_reading_is_chosen_by_one_option():
    spellings = {spelling for _, option in OPTIONS for spelling in option.opts}
    assert not spellings & {"--lenient", "--strict", "--published", "--plot", "--logs"}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_that_prints_a_table_prints_json(path):
    flags = {flag for option in COMMANDS[path].params for flag in option.opts}
    assert ("--json" in flags) == (path not in WITHOUT_TABLE)


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_help_fits_80_columns(path):
    assert max(map(len, run(*path, "--help").splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["estimate", "processbench.sample", "--model", "openai/gpt-4o-mini", "--limit", "2"],
        ["estimate", "procedural.small", "--model", "m", "-T", "critic=stepwise", "--limit", "2"],
        ["forge", "analyze", "--source", "offline"],
        ["power", "processbench.sample", "--accuracies", "0.6", "0.65", "--agree", "0.9"],
    ],
    ids=" ".join,
)
def test_tables_fit_80_columns_and_json_has_no_table(arguments):
    table = run(*arguments)
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table
    content = json.loads(run(*arguments, "--json"), parse_constant=pytest.fail)
    assert content


def test_check_prints_its_problems_as_json(tmp_path, own_file):
    content = json.loads(run("data", "check", own_file, "--json"))
    assert (content["rows"], content["problems"]) == (3, [])
    assert content["summary"]["errors"] == 2
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "x", "problem": "p", "steps": ["a"], "label": 7}', encoding="utf-8")
    result = CliRunner().invoke(cli, ["data", "check", str(bad), "--json"])
    assert result.exit_code == 1
    [problem] = json.loads(result.stdout)["problems"]
    assert "7 is beyond its 1 steps" in problem


def test_a_limit_is_a_number_or_a_range():
    arguments = ["estimate", "processbench.sample", "--model", "m", "--json", "--limit"]
    assert json.loads(run(*arguments, "3"))["samples"] == 3
    assert json.loads(run(*arguments, "199-210"))["samples"] == 2
    for value, says in (
        ("0", "contains no sample"),
        ("0-50", "counted from 1"),
        ("9-5", "contains no sample"),
        ("ten", "a number, or a range"),
    ):
        for command in (arguments, ["run", "misstep/processbench.sample", "--limit"]):
            result = CliRunner().invoke(cli, [*command, value])
            assert result.exit_code == 2
            assert "Error: Invalid value for '--limit'" in result.stderr
            assert says in result.stderr
