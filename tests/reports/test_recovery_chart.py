import json

import pytest
from click.testing import CliRunner
from statsmodels.stats.proportion import proportion_confint

from misstep.cli._main import cli
from misstep.evals.error_recovery import error_recovery
from misstep.registry import MisstepError
from misstep.reports import (
    benchmarks,
    compare,
    leaderboard,
    read_run,
    recovery_chart,
    recovery_rates,
    save_chart,
)
from tests.support.openai_server import OpenAIServer
from tests.support.recovery_model import knows, student
from tests.support.runs import local_model, succeed

NAMES = {"NR": "NR: from nothing", "CR": "CR: after correct steps", "IR": "IR: after a wrong step"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    task = error_recovery(source="generated", per_task=4)
    with OpenAIServer(student(task.dataset)) as server:
        model = local_model(server, "openai-api/local/s")
        log = succeed(task, tmp_path_factory.mktemp("logs"), model)
    return list(task.dataset), log.location


def test_rates_and_intervals_are_those_of_the_samples(run):
    samples, log = run
    rates = recovery_rates([log])
    assert len(rates) == 15
    for rate in rates:
        [short] = [key for key, name in NAMES.items() if name == rate.variation]
        task = rate.part.lower().replace(" ", "_")
        hits = sum(knows(s, short) for s in samples if s.metadata["task"] == task)
        assert rate.rate == hits / 4
        ends = proportion_confint(hits, 4, method="wilson")
        assert (rate.lower, rate.upper) == pytest.approx(ends, abs=1e-9)
    assert [rate.part for rate in recovery_rates([log], by="steps")] == ["1-6"] * 3


def test_runs_with_other_variations_are_compared_in_those_that_both_have(run, tmp_path):
    samples, log = run
    task = error_recovery(source="generated", per_task=4, variations="XC,NR,CR,IR")
    with OpenAIServer(student(task.dataset)) as server:
        model = local_model(server, "openai-api/local/s")
        other = succeed(task, tmp_path, model).location
    runs = [read_run(other), read_run(log)]
    found = compare(runs)
    wanted = [f"{name}_correct_rate" for name in ("NR", "CR", "IR")]
    assert sorted(one.metric for one in found.contrasts) == sorted(wanted)
    for one in found.contrasts:
        name = one.metric.partition("_")[0]
        share = sum(knows(sample, name) for sample in samples) / len(samples)
        assert (one.first_value, one.second_value) == (share, share)
    [benchmark] = benchmarks(runs)
    assert len(leaderboard(benchmark)) == 2


def test_two_logs_are_two_rows(run):
    _, log = run
    rates = recovery_rates([log, log], reading="lenient")
    assert len(rates) == 30
    assert len({rate.run for rate in rates}) == 2


def test_the_chart_holds_every_rate_and_is_drawn(run, tmp_path):
    _, log = run
    chart = recovery_chart(recovery_rates([log]))
    save_chart(chart, tmp_path / "rates.json")
    described = json.loads((tmp_path / "rates.json").read_text())
    assert len(described["data"]["values"]) == 15
    done = CliRunner().invoke(
        cli, ["plot", "recovery", log, "-o", str(tmp_path / "rates.svg"), "--group", "position"]
    )
    assert done.exit_code == 0, done.output
    drawn = (tmp_path / "rates.svg").read_text(encoding="utf-8")
    assert "IR: after a wrong step" in drawn
    assert "Early" in drawn


def test_what_is_not_a_log_of_error_recovery_is_refused(tmp_path):
    with pytest.raises(MisstepError, match="cannot be read as an Inspect log"):
        recovery_rates([str(tmp_path / "none.eval")])
