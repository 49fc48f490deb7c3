"""`misstep show`: one screen for every eval, and warnings where a number would mislead."""

import json
from math import nan

import pytest
from click.testing import CliRunner
from inspect_ai.log import write_eval_log

from misstep.cli._main import cli
from misstep.evals import (
    adversarial_numinamath,
    error_recovery,
    guided_search,
    procedural,
    processbench,
)
from misstep.registry import MisstepError, cautions
from misstep.reports import read_run, summary_of_run
from tests.reports.conftest import ROWS, dataset, write_run
from tests.support.logs import guesses
from tests.support.openai_server import OpenAIServer, critic
from tests.support.runs import local_model, succeed


def show(*arguments):
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["show", *map(str, arguments)])
    if isinstance(result.exception, MisstepError):
        raise result.exception
    return result


def test_one_screen_has_the_headline_its_parts_subsets_and_cost(tmp_path):
    log = write_run(tmp_path / "x.eval", guesses(ROWS, 0.6), model="openai/gpt-4o-mini")
    output = show(tmp_path / "x.eval").output
    [f1] = [s.metrics["f1_score"] for s in log.results.scores if s.name == "first_error"]
    assert "processbench.sample · sample · openai/gpt-4o-mini" in output
    assert f"{len(ROWS)} of {len(ROWS)} samples" in output
    assert f"{100 * f1.value:.1f} [" in output
    for word in (
        "Error accuracy",
        "Correct accuracy",
        "algebra_geometry",
        "unread",
        "(list price)",
    ):
        assert word in output
    assert max(map(len, output.splitlines())) <= 80
    assert len(output.splitlines()) <= 24, "one screen"


def test_json_has_the_same_as_fractions(tmp_path):
    write_run(tmp_path / "x.eval", guesses(ROWS, 0.6))
    [content] = json.loads(show(tmp_path / "x.eval", "--json").stdout)
    assert content["headline"]["name"] == "f1_score"
    assert 0 < content["headline"]["lower"] < content["headline"]["value"] < 1
    assert {one["subset"] for one in content["subsets"]} >= {"science", "generated"}


def test_subsets_come_from_the_samples_if_the_log_has_no_metric_for_them(tmp_path):
    log = write_run(tmp_path / "x.eval", guesses(ROWS, 0.6))
    full = summary_of_run(read_run(str(tmp_path / "x.eval")))
    for score in log.results.scores:
        kept = ("f1_score", "error_accuracy", "correct_accuracy", "f1_score_lower")
        score.metrics = {name: score.metrics[name] for name in kept}
    write_eval_log(log, str(tmp_path / "few.eval"))
    few = summary_of_run(read_run(str(tmp_path / "few.eval")))
    assert [one.subset for one in few.subsets] == [one.subset for one in full.subsets]
    for one, other in zip(few.subsets, full.subsets, strict=True):
        assert one.metric.value == pytest.approx(other.metric.value, nan_ok=True)
    for one in few.parts:
        assert one.lower <= one.value <= one.upper


def test_unread_replies_are_counted_by_cause(tmp_path):
    replies = ["no box here" if i % 4 == 0 else r"\boxed{-1}" for i in range(len(ROWS))]
    write_run(tmp_path / "x.eval", replies)
    summary = summary_of_run(read_run(str(tmp_path / "x.eval")))
    assert summary.unread == {"no_box": pytest.approx(len(ROWS[::4]) / len(ROWS))}
    assert "gave no result that can be read" in summary.warnings[0]


def test_failed_samples_are_a_warning(tmp_path):
    write_run(tmp_path / "x.eval", guesses(ROWS, 0.6), failed=[ROWS[0].id])
    output = " ".join(show(tmp_path / "x.eval").output.split())
    assert f"1 of {len(ROWS)} samples failed. They are left out of the numbers." in output
    assert f"{len(ROWS) - 1} of {len(ROWS)} samples, in percent" in output


def test_one_class_only_is_a_warning_that_names_the_cure(tmp_path):
    rows = [row for row in ROWS if row.label >= 0]
    write_run(tmp_path / "x.eval", guesses(rows, 0.6), rows=rows)
    output = " ".join(show(tmp_path / "x.eval").output.split())
    assert "Every row has an error, so F1 is undefined." in output
    assert "--sample-shuffle 42" in output


@pytest.mark.parametrize(
    ("metrics", "failed", "says"),
    [
        ({"truncated": 0.06}, 0, ["Raise --max-tokens"]),
        ({"truncated": 0.05}, 0, []),
        ({"unparsed": 0.21}, 0, ["gave no result"]),
        ({"truncated": 0.04, "unparsed": 0.17}, 0, ["gave no result"]),
        ({"unparsed": 0.2, "truncated": nan}, 0, []),
        ({"error_count": 0, "correct_count": 9}, 0, ["No row has an error"]),
        ({"error_count": 9, "correct_count": 0}, 0, ["Every row has an error"]),
        ({"error_count": 5, "correct_count": 4}, 1, ["1 of 10 samples failed"]),
    ],
)
def test_warnings_come_where_a_number_would_mislead(metrics, failed, says):
    found = list(cautions(metrics, failed, 10))
    assert len(found) == len(says)
    assert all(words in caution for words, caution in zip(says, found, strict=True))


def whole_gsm8k(tmp_path, processbench_rows, model, rows=None, **arguments):
    rows = rows or processbench_rows["gsm8k"]
    path = tmp_path / f"{model.rpartition('/')[2]}.eval"
    write_run(
        path,
        guesses(rows, 0.7),
        rows=rows,
        model=model,
        task="misstep/processbench",
        dataset=dataset(rows, "processbench-gsm8k"),
        task_args={"subset": "gsm8k", **arguments},
        task_args_passed={"subset": "gsm8k", **arguments},
    )
    return summary_of_run(read_run(str(path)))


def test_the_nearest_published_number_has_the_same_rows_and_protocol(tmp_path, real_rows):
    found = whole_gsm8k(tmp_path, real_rows, "openai/gpt-4o-0806").published
    assert found.model == "GPT-4o-0806"
    assert "one greedy answer" in found.protocol
    other = whole_gsm8k(tmp_path, real_rows, "openai/new", votes=8).published
    assert "eight votes" in other.protocol


def test_other_rows_or_another_protocol_have_no_published_number(tmp_path, real_rows):
    few = real_rows["gsm8k"][:100]
    assert whole_gsm8k(tmp_path, real_rows, "openai/a", few).published is None
    assert whole_gsm8k(tmp_path, real_rows, "openai/b", votes=4).published is None
    assert whole_gsm8k(tmp_path, real_rows, "openai/c", domain="generic").published is None
    assert whole_gsm8k(tmp_path, real_rows, "openai/d", critic="stepwise").published is None


def test_every_kind_of_eval_is_shown(tmp_path):
    with OpenAIServer(critic) as server:
        model = local_model(server)
        for task in (
            error_recovery(source="generated", per_task=1),
            guided_search(source="sample", method="majority", n=2),
            adversarial_numinamath(critic="uniform"),
            procedural(n=12, critic="arithmetic"),
        ):
            log = succeed(task, tmp_path, model, limit=6)
            summary = summary_of_run(read_run(log.location))
            assert summary.headline.name == log.eval.headline_metric.metric
            assert summary.headline.lower <= summary.headline.value <= summary.headline.upper
            assert summary.parts
            assert max(map(len, show(log.location).output.splitlines())) <= 80


def test_a_run_ends_with_its_warnings_and_the_command_that_shows_it(tmp_path, capsys):
    succeed(
        "misstep/processbench.sample",
        tmp_path,
        task_args={"critic": "no_error", "order": "published"},
        limit=1,
        display="plain",
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "Warning: No row has" in said
    assert f"Results at a glance: misstep show {tmp_path}" in said


def test_a_task_made_in_python_ends_with_the_command_too(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = processbench(source="sample", critic="no_error")
    succeed(task, tmp_path / "my logs", limit=2, display="plain")
    said = " ".join(capsys.readouterr().out.split())
    assert "Results at a glance: misstep show 'my logs/" in said


def test_a_quiet_run_says_nothing(tmp_path, capsys):
    task = {"critic": "no_error"}
    succeed("misstep/processbench.sample", tmp_path, task_args=task, limit=1, display="none")
    assert "misstep show" not in capsys.readouterr().out


def test_many_logs_are_one_line_each(tmp_path):
    for name in ("strong", "weak", "third"):
        write_run(tmp_path / f"{name}.eval", guesses(ROWS, 0.5), model=f"openai/{name}")
    write_run(tmp_path / "unread.eval", ["?"] * len(ROWS), model="openai/unread")
    result = show(tmp_path)
    assert "openai/strong" in result.output
    assert result.output.count("(!)") == 2, "one run, and the legend"
    assert "misstep show LOG" in result.output
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_log_without_results_says_why_and_how_to_finish_it(tmp_path):
    write_run(tmp_path / "x.eval", guesses(ROWS, 0.5), status="error")
    result = CliRunner().invoke(cli, ["show", str(tmp_path / "x.eval")])
    assert isinstance(result.exception, MisstepError)
    assert "ended in an error" in result.stderr
    assert "inspect eval-retry" in result.stderr
