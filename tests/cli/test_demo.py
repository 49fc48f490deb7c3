"""`misstep demo`: a solution, a table, a comparison, a page. The embedded model really runs."""

import pytest
from click.testing import CliRunner
from inspect_ai.log import list_eval_logs, read_eval_log

from misstep.cli._main import cli
from misstep.solvers import BASELINES

pytestmark = pytest.mark.usefixtures("embedded_model_installed")
ROWS = 2


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    page = folder / "report.html"
    options = ["--log-dir", folder / "logs", "-o", page, "--embedded", ROWS]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["demo", *map(str, options)])
    assert result.exit_code == 0, result.output
    return folder, page, result.stdout


def test_a_solution_is_shown_with_its_wrong_step_and_every_verdict(shown):
    _, _, output = shown
    assert output.count("wrong →") == 1
    said = " ".join(output.split())
    for critic in (*BASELINES, "embedded/smollm2"):
        assert f"{critic}: no error" in said or f"{critic}: step" in said


def test_one_table_has_every_critic_with_intervals(shown):
    _, _, output = shown
    rows = [line for line in output.splitlines() if line.count("[") == 3]
    assert [row.split()[0] for row in rows] == [
        *(name for name in BASELINES if name != "arithmetic"),
        "arithmetic",
        "embedded/smollm2",
    ]
    assert max(map(len, rows)) <= 80


def test_one_sentence_compares_two_critics_with_its_p_value(shown):
    said = " ".join(shown[2].split())
    assert f"On the {ROWS} solutions that both judged, arithmetic has an F1 of" in said
    assert "p = " in said


def test_every_reply_of_the_embedded_model_is_a_verdict(shown):
    folder, _, _ = shown
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder / "logs"))]
    [asked] = [log for log in logs if log.eval.model == "embedded/smollm2"]
    for sample in asked.samples:
        verdict = int(sample.scores["first_error"].answer)
        assert -1 <= verdict < len(sample.metadata["steps"])


def test_the_page_is_written_and_named(shown):
    _, page, output = shown
    assert "arithmetic" in page.read_text(encoding="utf-8")
    assert f"open {page}" in output
    assert "inspect view --log-dir" in output


def test_without_the_embedded_model_the_demo_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("misstep.reports._reference._missing_model", lambda: "Install it: pip ...")
    options = ["--log-dir", str(tmp_path / "logs"), "-o", str(tmp_path / "x.html")]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["demo", *options])
    assert result.exit_code == 0, result.output
    assert "The embedded model is left out. Install it: pip ..." in result.output
    assert "label_distribution of" in " ".join(result.output.split())
