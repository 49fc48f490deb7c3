"""Logs of the evals that are not of first errors, from real runs."""

import json
from dataclasses import replace

import pytest

from misstep.registry import published
from misstep.reports import (
    benchmarks,
    budget,
    build_report,
    compare,
    leaderboard,
    load_task,
    read_logs,
    recovery_frame,
)
from misstep.reports._leaderboard import METRICS
from tests.support.openai_server import OpenAIServer
from tests.support.rows import delta_row
from tests.support.runs import local_model, succeed

ROWS = 5


def reply_of(name):
    """A model that answers everything in its own way."""

    def reply(request, choice):
        conclusion = "yes" if name == "one" else "no"
        return f"Conclusion: {conclusion}\nError Section Number: 2"

    return reply


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Two models on error recovery, a search without rewards, and erroneous sections."""
    folder = tmp_path_factory.mktemp("others")
    rows = [delta_row(f"d-{i}", errors=[2] if i % 2 else [1]) for i in range(ROWS)]
    path = folder / "delta.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for name in ("one", "two"):
        with OpenAIServer(reply_of(name)) as server:
            model = local_model(server, f"openai-api/local/{name}")
            tasks = [
                load_task("error-recovery.sample", {}),
                load_task("guided_search.sample", {"method": "majority", "n": 2}),
                load_task("deltabench_sections", {"source": str(path)}),
            ]
            for task in tasks:
                succeed(task, folder / "logs", model, limit=ROWS)
    return read_logs(folder / "logs")


def test_all_of_them_are_counted(others):
    assert others.skipped == []
    kinds = {(b.eval, b.kind, len(b.runs)) for b in benchmarks(others.runs)}
    assert kinds == {
        ("error_recovery", "recovery", 2),
        ("guided_search", "answers", 2),
        ("deltabench_sections", "error_sections", 2),
    }


def test_leaderboards_have_the_metrics_of_each_eval(others):
    boards = {b.eval: leaderboard(b) for b in benchmarks(others.runs)}
    assert {"IR_correct_rate", "CR_correct_rate_lower"} <= set(boards["error_recovery"])
    assert {"accuracy", "accuracy_upper"} <= set(boards["guided_search"])
    sections = boards["deltabench_sections"].set_index("run")
    # One model flags section 2, which is the erroneous one of two rows in five.
    assert sections.loc["openai-api/local/one", "f1_macro"] == pytest.approx(0.4)
    assert sections.loc["openai-api/local/two", "f1_macro"] == 0.0


def test_runs_of_each_eval_are_compared_by_its_own_metrics(others):
    found = {}
    for benchmark in benchmarks(others.runs):
        comparison = compare(benchmark.runs, resamples=300)
        found[benchmark.eval] = {c.metric: c for c in comparison.contrasts}
    assert set(found["error_recovery"]) == {"NR_correct_rate", "CR_correct_rate", "IR_correct_rate"}
    assert set(found["guided_search"]) == {"accuracy"}
    sections = found["deltabench_sections"]
    assert sections["f1_macro"].difference == pytest.approx(-0.4)
    assert sections["f1_macro"].test == "permutation"
    assert sections["f1_micro"].first_value == pytest.approx(0.4)


def test_a_report_of_them_has_their_charts(others):
    titles = {
        section.title.partition(" ")[0]: [chart.title for chart in section.charts]
        for section in build_report(others).sections
    }
    assert "Recovery: task" in titles["error_recovery"]
    assert "Accuracy and calls" in titles["guided_search"]
    assert "F1, macro by run" in titles["deltabench_sections"]


def as_published(run, **traits):
    """Return a run as if it were on DeltaBench's rows, in all of its subsets."""
    names = ["math", "code", "Physics&Chemistry&Biology", "general"]
    samples = [
        replace(sample, facets={**sample.facets, "subset": names[i % 4]})
        for i, sample in enumerate(run.samples)
    ]
    return replace(run, data="deltabench", samples=samples, traits={**run.traits, **traits})


def test_deltabench_compares_with_its_leaderboard_by_the_published_rule_alone(others):
    run = next(one for one in others.runs if one.kind == "error_sections")
    [benchmark] = benchmarks([as_published(run, wording="published")])
    table = leaderboard(benchmark)
    paper = table[table["published"]].set_index("run")
    entries = published()["deltabench_leaderboard"].results
    assert set(paper["protocol"]) == {"critic"}
    assert set(paper.index) == {name for name, one in entries.items() if one.protocol == "critic"}
    assert paper.loc["GPT-4o", "published_f1_macro"] == pytest.approx(0.3085)
    assert paper.loc["GPT-4o", "published_recall_macro"] == pytest.approx(0.3652)
    strict = [name for name in METRICS["error_sections"] if name in paper]
    assert strict
    assert paper[strict].isna().all(axis=None)
    own = table[~table["published"]].iloc[0]
    by_script = run.metrics["error_sections_published"]["f1_macro"]
    assert (own["published_f1_macro"], own["f1_macro"]) == (
        by_script,
        run.metrics["error_sections"]["f1_macro"],
    )
    # Read by the published rule, the same numbers need no second column.
    table = leaderboard(benchmark, "published")
    assert "published_f1_macro" not in table
    assert table.set_index("run").loc["GPT-4o", "f1_macro"] == pytest.approx(0.3085)


def test_deltabench_has_no_published_results_beside_other_protocols(others):
    run = next(one for one in others.runs if one.kind == "error_sections")
    for traits in ({}, {"wording": "published", "critic": "own.py@solver"}):
        [benchmark] = benchmarks([as_published(run, **traits)])
        assert not leaderboard(benchmark)["published"].any()
    # Without the scores of the published rule, there is nothing to compare with.
    asked = as_published(run, wording="published")
    strict = {name: own for name, own in asked.metrics.items() if "published" not in name}
    [benchmark] = benchmarks([replace(asked, metrics=strict)])
    assert not leaderboard(benchmark)["published"].any()


def test_rates_and_budgets_are_tables(others):
    runs = {b.eval: b.runs for b in benchmarks(others.runs)}
    rates = recovery_frame(runs["error_recovery"])
    assert set(rates["variation"].str[:2]) == {"NR", "CR", "IR"}
    spent = budget(runs["guided_search"])
    assert (spent["calls_a_sample"] == 1).all()
    assert (spent["tokens_a_sample"] > 0).all()
