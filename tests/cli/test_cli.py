import json
from errno import ENOSPC
from pathlib import Path

import pytest
from click.testing import CliRunner

from misstep.cli import _main
from misstep.cli._main import cli
from misstep.runs import SplitRun


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
    assert "5 problems; 0 rows are good." in result.output


def test_check_goes_on_after_a_malformed_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    good = json.dumps({"problem": "p", "steps": ["a"], "label": 0}).encode()
    path.write_bytes(b"\n".join([good, b'{"problem": ', b"\xff", good, b'{"id": "x"}']))
    result = run("data", "check", str(path))
    assert result.exit_code == 1
    assert "line 2: not valid JSON" in result.output
    assert "line 3: not UTF-8" in result.output
    assert "row 5 ('x'): problem: missing" in result.output
    assert "2 rows are good." in result.output


def test_check_goes_on_after_a_csv_row_with_too_many_cells(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text('problem,steps,label\np,"[""a""]",0,9\np,"[""a""]",0\n', encoding="utf-8")
    result = run("data", "check", str(path))
    assert "line 2: more cells than the header" in result.output
    assert "1 rows are good." in result.output


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
def test_a_users_mistake_is_one_message_without_a_traceback(monkeypatch, capsys, arguments, says):
    monkeypatch.setattr("sys.argv", ["misstep", *arguments])
    with pytest.raises(SystemExit) as ended:
        _main.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("misstep: ")
    assert says in said
    assert "Traceback" not in said


def test_a_full_disk_is_one_message_with_the_cure(monkeypatch, capsys):
    def full(*arguments, **options):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(_main, "cli", full)
    with pytest.raises(SystemExit) as ended:
        _main.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert (
        said == "misstep: No space left on device. Free some space, then rerun the same command.\n"
    )


def test_ctrl_c_before_the_run_is_planned_says_what_to_do(monkeypatch, tmp_path):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(SplitRun, "create", interrupted)
    command = ["run", "misstep/processbench.sample", "--model", "mockllm/model"]
    result = run(*command, "--log-dir", str(tmp_path))
    assert result.exit_code == 130
    assert "Interrupted. No sample was run: rerun the same command." in result.output


def test_ctrl_c_ends_every_command_with_the_code_of_a_shell(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("misstep.cli._list.eval_sizes", interrupted)
    result = run("list")
    assert result.exit_code == 130
    assert result.output == "Interrupted.\n"


@pytest.mark.parametrize("command", ["estimate", "run"])
def test_an_unknown_eval_is_one_short_message_with_the_closest_name(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(command, "misstep/processbench.smple", "--model", "mockllm/model")
    assert str(result.exception) == (
        "Unknown eval 'misstep/processbench.smple'. Did you mean 'processbench.sample'? "
        "`misstep list` shows all evals."
    )


def test_the_help_of_import_is_laid_out_as_it_is_written():
    lines = run("import", "--help").output.splitlines()
    assert "  FILEs hold one of these:" in lines
    assert "    predictions  CSV: id, prediction" in lines


def test_a_good_file_of_rows_ends_with_the_command_that_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {"problem": "2 + 2", "steps": ["It is 5."], "label": 0}
    (tmp_path / "my rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    last = run("data", "check", "my rows.jsonl").output.splitlines()[-1]
    assert last == "Run it: inspect eval misstep/processbench -T source='my rows.jsonl' …"


def test_list_says_which_sources_lack_a_pin():
    assert "Sources that lack a revision or a sha256" in run("list").output
    table = run("list", "--sources").output
    assert "no sha256 of 5 of 7 files; the commit pins it" in table
    records = json.loads(run("list", "--sources", "--json").output)
    assert {one["source"]: one["lacks"] for one in records}["mr_math"] is None
