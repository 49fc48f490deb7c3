"""`misstep study` from command to page, with baselines and a critic behind a server."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai.log import list_eval_logs, read_eval_log

import misstep.registry.entry_point  # noqa: F401
from misstep.cli._main import cli
from misstep.registry import MisstepError
from tests.support.openai_server import OpenAIServer
from tests.support.runs import table_of

ROWS = 40
# A name of its own: Inspect keeps a model with its address, and other tests have other servers.
CRITIC = "openai-api/local/studied"


def command(folder, *options):
    arguments = ["study", "--embedded", "0", "-T", f"n={ROWS}", "-T", "seed=7", *options]
    places = ["--log-dir", str(folder / "logs"), "-o", str(folder / "out")]
    result = CliRunner().invoke(cli, [*arguments, *places], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_study_that_is_interrupted_ends_without_a_traceback(tmp_path, monkeypatch):
    monkeypatch.setattr("inspect_ai.eval_set", lambda *tasks, **options: (False, []))
    arguments = ["study", "-T", "n=4", "--log-dir", str(tmp_path), "-o", str(tmp_path)]
    result = CliRunner().invoke(cli, arguments)
    assert (result.exit_code, result.output) == (130, "Interrupted.\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of a critic that always names step 2, the second time over the same logs."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch, OpenAIServer(lambda *_: r"\boxed{2}") as server:
        patch.setenv("LOCAL_BASE_URL", server.url)
        patch.setenv("LOCAL_API_KEY", "x")
        patch.setenv("INSPECT_DISPLAY", "log")
        command(folder)
        command(folder, "--model", CRITIC)
        asked = len(server.requests)
        command(folder, "--model", CRITIC)
        assert asked == len(server.requests) == ROWS
    return folder


def table(made, name):
    with (made / "out" / "study" / name).open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_finished_runs_are_not_made_again(made):
    logs = [read_eval_log(log, header_only=True) for log in list_eval_logs(str(made / "logs"))]
    assert sorted(log.eval.task_args["critic"] for log in logs) == [
        "arithmetic",
        "critique",
        "label_distribution",
        "last_step",
        "late_window",
        "no_error",
        "uniform",
    ]
    assert {log.results.completed_samples for log in logs} == {ROWS}


def test_figures_are_those_of_the_samples(made):
    hits = defaultdict(list)
    for row in table(made, "samples.csv"):
        if row["label"] != "-1":
            hits[row["critic"], row["label"]].append(row["verdict"] == row["label"])
    steps = [row for row in table(made, "figures.csv") if row["dimension"] == "step"]
    assert len(steps) == len(hits)
    for row in steps:
        own = hits[row["critic"], row["group"]]
        assert int(row["rows"]) == len(own)
        assert float(row["rate"]) == pytest.approx(sum(own) / len(own))
        named_two = row["critic"] == f"{CRITIC}, critique"
        assert not named_two or float(row["rate"]) == (row["group"] == "2")


def test_samples_are_those_of_the_generator(made):
    from misstep.generator import solutions

    wanted = {one.row()["id"]: one.row() for one in solutions(7, ROWS)}
    rows = [row for row in table(made, "samples.csv") if row["critic"] == "no_error"]
    assert [row["id"] for row in rows] == list(wanted)
    for row in rows:
        known = wanted[row["id"]]
        assert int(row["label"]) == known["label"]
        assert row["error_type"] == (known["error_type"] or "")
        assert row["finding"] == ("right" if known["label"] == -1 else "missed")


def test_the_page_has_the_results_of_the_logs_and_every_picture(made):
    page = (made / "out" / "study.md").read_text(encoding="utf-8")
    assert f"misstep study --model {CRITIC} --critic critique -T n={ROWS} -T seed=7" in page
    assert "generator v6, `seed=7`, `n=40`" in page
    for log in list_eval_logs(str(made / "logs")):
        header = read_eval_log(log, header_only=True)
        figures = table_of(header)
        critic = header.eval.task_args["critic"]
        name = f"{CRITIC}, critique" if critic == "critique" else critic
        [line] = [line for line in page.splitlines() if line.startswith(f"| {name} | {ROWS} |")]
        assert f"| {100 * figures['error_accuracy']:.1f} [" in line
        assert f"| {100 * figures['f1_score']:.1f} [" in line
    pictures = list(Path(made / "out" / "study").glob("*.svg"))
    assert len(pictures) == 10
    for picture in pictures:
        assert picture.read_bytes().startswith(b"<svg")
        assert f"(study/{picture.name})" in page


@pytest.mark.parametrize(
    ("argument", "cure"), [("seed", "name=value"), ("critic=no_error", "--critic")]
)
def test_an_argument_that_is_none_is_refused(tmp_path, argument, cure):
    with pytest.raises(MisstepError, match=cure):
        command(tmp_path, "-T", argument)


def test_an_unknown_argument_is_one_message(tmp_path):
    with pytest.raises(MisstepError, match="sead"):
        command(tmp_path, "-T", "sead=7")
    assert not (tmp_path / "out").exists()
