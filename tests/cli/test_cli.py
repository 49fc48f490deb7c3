import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli

MISSTEP = str(Path(sys.executable).parent / "misstep")


def run(*arguments):
    return CliRunner().invoke(cli, arguments, terminal_width=200)


def test_list_prints_every_eval_and_variant():
    result = run("list")
    assert result.exit_code == 0
    assert "processbench.omnimath" in result.output
    assert "3,400" in result.output


def test_configs_lists_names_and_prints_the_path_of_one():
    assert "processbench-paper-maj8" in run("configs").output
    path = Path(run("configs", "processbench-paper-maj8").output.strip())
    assert path.is_file()
    listed = {entry["name"]: entry["path"] for entry in json.loads(run("configs", "--json").output)}
    assert listed["processbench-paper-maj8"] == str(path)


def test_check_summarises_a_good_file(own_file):
    result = run("data", "check", str(own_file))
    assert result.exit_code == 0
    assert "2 (66.7%)" in result.output
    assert "first error at 2" in result.output
    assert "sums (1)" in result.output


def test_check_tells_all_that_is_wrong_and_fails(tmp_path):
    path = tmp_path / "bad.jsonl"
    rows = [{"id": "[bold]x", "problem": "p", "steps": ["a"], "label": 7}, {"id": "\x1b[31m"}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = run("data", "check", str(path))
    assert result.exit_code == 1
    assert "row 1 ('[bold]x'): label: 7 is beyond its 1 steps" in result.output
    assert "\x1b[31m" not in result.output
    assert "4 problems; 0 rows are good." in result.output


def test_check_warns_of_lost_backslashes(tmp_path):
    path = tmp_path / "lost.jsonl"
    row = {"id": "x", "problem": "p", "steps": ["so \boxed{5}"], "label": 0}
    path.write_text(json.dumps(row), encoding="utf-8")
    result = run("data", "check", str(path))
    assert result.exit_code == 0
    assert r"x: steps[0] contains '\x08': a lost backslash?" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["data", "fetch", "procesbench"], "Did you mean 'processbench'"),
        (["data", "check", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["demo", "--log-dir", "/proc/nowhere"], "/proc/nowhere: No such file or directory."),
        (["forge", "build", "--source", "offline", "--model", "no/m", "-o", "x"], "no/m: not a"),
    ],
)
def test_a_users_mistake_is_one_message_without_a_traceback(arguments, says):
    done = subprocess.run([MISSTEP, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("misstep: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
