import csv
from itertools import islice

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import MisstepError
from misstep.reports import build_report, checkpoints, figure_files, read_logs
from tests.reports.conftest import ROWS, write_run
from tests.support.logs import guesses

SKILLS = {"100": 0.3, "1k": 0.5, "20k": 0.8}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    for number, (step, skill) in enumerate(SKILLS.items()):
        replies = guesses(ROWS, skill, number)
        write_run(folder / f"{step}.eval", replies, model=f"hf/math-{step}", tags=[f"step={step}"])
    write_run(folder / "untagged.eval", guesses(ROWS, 0.4, 9), model="hf/other")
    return folder


def test_runs_of_a_family_are_ordered_by_their_tag(trained):
    runs = read_logs(trained).runs
    table = checkpoints(runs, "step", "f1_score")
    assert list(table["step"]) == ["100", "1k", "20k"]
    assert list(table["place"]) == [100, 1000, 20000]
    assert set(table["family"]) == {"hf/math"}
    known = {run.model: run.metrics["first_error"] for run in runs}
    for row in table.to_dict("records"):
        assert row["f1_score"] == known[row["model"]]["f1_score"]
        assert row["f1_score_lower"] == known[row["model"]]["f1_score_lower"]


def test_the_curve_is_a_chart_and_a_file(trained):
    report = build_report(read_logs(trained), by="step")
    [section] = report.sections
    assert section.charts[1].title == "F1 by step"
    # A PDF, an SVG and a table of each chart. The curve is the second chart.
    files = dict(islice(figure_files(report), 6))
    folder = "processbench_sample_version_1"
    rows = csv.DictReader(files[f"{folder}/f1_by_step.csv"].decode().splitlines())
    assert [row["step"] for row in rows] == ["100", "1k", "20k"]
    assert files[f"{folder}/f1_by_step.pdf"].startswith(b"%PDF")
    assert files[f"{folder}/f1_by_step.svg"].startswith(b"<svg")
    assert b"hf/math" in files[f"{folder}/f1_by_run.svg"]


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("step", "write tag:NAME, such as tag:step"),
        ("tag:size", "no run has this tag. Tags of these runs: step"),
    ],
)
def test_a_tag_that_is_not_there_is_one_message(trained, tmp_path, by, says):
    page = tmp_path / "r.html"
    result = CliRunner().invoke(cli, ["report", str(trained), "-o", str(page), "--by", by])
    assert isinstance(result.exception, MisstepError)
    assert says in str(result.exception)
    assert not page.exists()


def test_a_value_that_has_no_place_is_named(trained):
    from dataclasses import replace

    run = replace(read_logs(trained).runs[0], tags={"step": "late"})
    with pytest.raises(MisstepError, match=r"step='late'. A value is a number"):
        checkpoints([run], "step", "f1_score")
