"""The commands that look at runs: before them, and after."""

import json
from hashlib import sha256

import pytest
from click.testing import CliRunner
from inspect_ai.log import read_eval_log

from misstep.cli._main import cli
from misstep.providers import find_weights
from misstep.registry import MisstepError
from misstep.reports import paired_samples, planned_runs, run_planned
from misstep.reports._power import Aim
from misstep.reports._text import markdown_text
from misstep.solvers import BASELINES
from tests.reports.conftest import ROWS, write_run
from tests.support.logs import guesses


def run(*arguments):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if isinstance(result.exception, MisstepError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, skill in (("a", 0.3), ("b", 0.6), ("c", 0.9)):
        write_run(folder / f"{name}.eval", guesses(ROWS, skill, 3), model=f"openai/{name}")
    return folder


def test_compare_prints_a_table_and_the_method(logs):
    output = run("compare", logs / "a.eval", logs / "b.eval", "--show", 3, "--resamples", 200)
    assert "A: openai/a" in output
    assert f"strict reading: {len(ROWS)} paired samples" in output
    assert "McNemar's exact test" in output
    assert "the first 3" in output


def test_compare_fits_80_columns_and_cuts_no_number(logs):
    paths = [logs / f"{name}.eval" for name in "abc"]
    output = run("compare", *paths, "--show", 3, "--resamples", 200)
    tables = output.partition("\n\n")[2]
    assert max(map(len, tables.splitlines())) <= 80
    content = json.loads(run("compare", *paths, "--resamples", 200, "--json"))
    assert len(content["contrasts"]) == 15
    for contrast in content["contrasts"]:
        difference, lower, upper = (
            f"{100 * contrast[name]:+.1f}" for name in ("difference", "lower", "upper")
        )
        assert f"{difference} [{lower}, {upper}]" in tables
        for p in (contrast["p"], contrast["p_holm"]):
            assert (f"{p:.4f}" if p >= 0.0001 else "<0.0001") in tables
    titles = [line.strip() for line in tables.splitlines() if "−" in line]
    assert titles == ["B − A", "C − A", "C − B"]


def test_power_fits_80_columns(logs):
    for arguments in (["--accuracies", 0.6, 0.65, "--agree", 0.85], ["processbench.sample"]):
        assert max(map(len, run("power", *arguments).splitlines())) <= 80
    output = run("power", logs / "a.eval", logs / "b.eval")
    table = output[output.index("part ") :]
    assert max(map(len, table.splitlines())) <= 80
    content = json.loads(run("power", logs / "a.eval", logs / "b.eval", "--json"))
    for row in content["set"]:
        for name in ("accuracy", "different_samples", "same_samples", "same_samples_as_seen"):
            assert row[name] is None or f"{100 * row[name]:.1f}" in table


def test_power_tells_samples_and_differences(logs):
    content = json.loads(run("power", "--accuracies", 0.6, 0.65, "--agree", 0.85, "--json"))
    assert content["needed"][-1]["samples"] == paired_samples(0.6, 0.65, Aim(), 0.15)
    assert "the same samples, 85.0 agree" in content["needed"][-1]["design"]
    output = run("power", "processbench.sample", "--accuracy", 0.5)
    assert "with an error" in output
    assert "F1" in output
    content = json.loads(run("power", logs / "a.eval", logs / "b.eval", "--json"))
    parts = {part["part"]: part for part in content["set"]}
    assert parts["all"]["samples"] == len(ROWS)
    # Two runs mostly agree more than by chance, and then show smaller differences.
    assert parts["all"]["same_samples_as_seen"] is not None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["power"], "Nothing to compute"),
        (["power", "--accuracies", "0.5", "0.5"], "there is no difference to detect"),
        (["power", "processbenhc"], "Did you mean 'processbench'"),
        (["estimate", "procesbench", "--model", "m"], "Did you mean 'processbench'"),
        (["estimate", "processbench.sample", "--model", "m", "-T", "vots=8"], "vots"),
        (["estimate", "processbench.sample", "--model", "m", "-T", "votes"], "name=value"),
        (["compare", "nowhere.eval", "nowhere.eval"], "cannot be read as an Inspect log"),
        (["compare", "tests", "tests"], "it is a folder; name the logs in it"),
        (["report", "nowhere"], "there is no such log or folder"),
    ],
)
def test_a_mistake_is_one_message(arguments, says):
    with pytest.raises(MisstepError, match=says):
        run(*arguments)


def test_estimate_prints_what_a_run_takes(tmp_path):
    output = run("estimate", "procedural.small", "--model", "openai/gpt-4o-mini", "-T", "votes=8")
    assert "512 completions" in output
    assert "openai.com/api/pricing" in output
    costs = tmp_path / "costs.yaml"
    costs.write_text(
        "m/x: {input: 1, output: 2, input_cache_write: 0, input_cache_read: 0}", encoding="utf-8"
    )
    command = ["estimate", "processbench.sample", "--model", "m/x", "--limit", 2, "--json"]
    content = json.loads(run(*command, "--model-cost-config", costs))
    tokens = content["prompt_tokens"] + 2 * content["completion_tokens"]
    assert content["price"] == pytest.approx(tokens / 1e6)
    costs.write_text("m/x: {input: much}", encoding="utf-8")
    with pytest.raises(MisstepError, match=r"costs.yaml: not a file of prices"):
        run(*command, "--model-cost-config", costs)


def test_every_bundled_set_has_its_reference_runs():
    gguf = "embedded//models/own.gguf"
    planned = list(planned_runs(baselines=True, models=["embedded/smollm2", gguf]))
    sets = {one.eval for one in planned}
    assert {
        "processbench.sample",
        "procedural.small",
        "error-recovery.sample",
        "guided_search.sample",
        "adversarial_numinamath.sample",
        "agent_process.sample",
    } <= sets
    for name in sets:
        own = [one for one in planned if one.eval == name]
        assert [one.model for one in own][-2:] == ["embedded/smollm2", gguf]
        # A grammar constrains the verdict wherever the task asks for one.
        grammar = own[-1].arguments.get("critic") == "index_only"
        assert grammar == (name not in ("error-recovery.sample", "guided_search.sample"))
    critics = {one.arguments.get("critic") for one in planned if one.eval == "procedural.small"}
    assert critics == {*BASELINES, "index_only"}


def test_a_reference_run_is_made_once_and_stands_on_the_page(tmp_path):
    own = ("--log-dir", tmp_path / "logs", "-o", tmp_path / "results.md")
    with pytest.raises(MisstepError, match="there are no logs"):
        run("reference", *own)
    [planned] = [
        one
        for one in planned_runs(baselines=True, models=())
        if one.eval == "agent_process.sample" and one.label == "no_error"
    ]
    for _ in range(2):
        run_planned(planned, tmp_path / "logs" / "runs", None, None)
    assert len(list((tmp_path / "logs" / "runs").glob("*.eval"))) == 1
    run("reference", *own)
    assert "| no\\_error | baseline | 24 |" in (tmp_path / "results.md").read_text()


def test_a_model_by_path_runs_with_a_grammar_and_its_checksum_is_in_the_log(tmp_path, monkeypatch):
    weights = find_weights("smollm2")
    checksum = sha256(weights.read_bytes()).hexdigest()

    def on_one_set(baselines, models):
        return [one for one in planned_runs(baselines, models) if one.eval == "processbench.sample"]

    monkeypatch.setattr("misstep.cli._demo.planned_runs", on_one_set)
    page = tmp_path / "results.md"
    for _ in range(2):
        run("reference", "--gguf", weights, "--samples", 1, "--log-dir", tmp_path, "-o", page)
    [path] = (tmp_path / "runs").glob("*.eval")
    log = read_eval_log(str(path))
    assert log.eval.metadata["weights_sha256"] == checksum
    assert log.eval.model == f"embedded/{weights.resolve()}"
    [sample] = log.samples
    assert -1 <= int(sample.scores["first_error"].answer) < len(sample.metadata["steps"])
    text = page.read_text(encoding="utf-8")
    name = markdown_text(f"embedded/{weights.name}")
    assert f"| {name} (sha256 {checksum[:12]}) | index\\_only | 1 |" in text
    assert f"- {name}: sha256 `{checksum}`" in text
    assert str(weights.parent) not in text
    with pytest.raises(MisstepError, match="only some of the samples ran"):
        run("submit", path, "-o", tmp_path / "files")
