"""Tables against the same metrics, computed in another way."""

import math

import pandas
import pytest
from statsmodels.stats.proportion import proportion_confint

from misstep.registry import published
from misstep.reports import (
    accuracy_by,
    benchmarks,
    calibration,
    confusion,
    findings,
    groupings,
    leaderboard,
    metrics_frame,
    read_logs,
    read_run,
    runs_frame,
    samples_frame,
    votes_curve,
)
from tests.reports.conftest import LONG_NAME, ROWS, dataset, write_run


@pytest.fixture(scope="module")
def good(runs):
    return [runs.strong, runs.weak, runs.voted]


def test_a_leaderboard_has_the_logs_own_metrics(good):
    [benchmark] = benchmarks(good)
    table = leaderboard(benchmark).set_index("run")
    for run in good:
        for name in ("f1_score", "error_accuracy_lower", "correct_accuracy_upper"):
            assert table.loc[run.model, name] == run.metrics["first_error"][name]
    assert list(table["f1_score"]) == sorted(table["f1_score"], reverse=True)
    assert not table["published"].any()


def test_published_results_stand_beside_runs_on_the_published_rows(tmp_path):
    rows = [
        row.model_copy(update={"subset": ("gsm8k", "math")[i % 2]}) for i, row in enumerate(ROWS)
    ]
    spec = {"task": "misstep/processbench", "dataset": dataset(rows, "processbench")}
    write_run(tmp_path / "x.eval", [r"\boxed{0}"] * len(rows), rows=rows, **spec)
    [benchmark] = benchmarks(read_logs(tmp_path).runs)
    table = leaderboard(benchmark)
    paper = table[table["published"]].set_index("run")
    cells = published()["processbench_paper"].results["Qwen2.5-72B-Instruct"].subsets
    row = paper.loc["Qwen2.5-72B-Instruct"]
    assert row["gsm8k_f1_score"] == pytest.approx(cells["gsm8k"].f1 / 100)
    # The mean is over the two subsets that were run, not over the four of the paper.
    mean = (cells["gsm8k"].f1 + cells["math"].f1) / 200
    assert row["mean_subset_f1_score"] == pytest.approx(mean)
    # Only results of the same protocol: one reply to the critique prompt.
    assert set(paper["protocol"]) == {"single", "critic"}
    assert "a language model asked with the critique prompt" in row["source"]
    assert "2412.06559" in paper.loc["GPT-4o-0806", "source"]
    assert math.isnan(row["f1_score"])
    # Rows that one paper quotes from another stand there once.
    assert paper.index.is_unique


def test_one_subset_has_the_published_accuracies(tmp_path):
    spec = {"task": "misstep/processbench.math", "dataset": dataset(ROWS, "processbench-math")}
    rows = [row.model_copy(update={"subset": "math"}) for row in ROWS]
    write_run(tmp_path / "x.eval", [r"\boxed{0}"] * len(rows), rows=rows, **spec)
    [benchmark] = benchmarks(read_logs(tmp_path).runs)
    table = leaderboard(benchmark).set_index("run")
    assert table.loc["GPT-4o-0806", "error_accuracy"] == pytest.approx(0.544)
    assert table.loc["GPT-4o-0806", "f1_score"] == pytest.approx(0.636)


@pytest.mark.parametrize("by", ["subset", "error_position", "length"])
def test_groups_have_the_means_of_their_samples_and_wilsons_interval(good, by):
    table = accuracy_by(good, by)
    samples = samples_frame(good)
    columns = {"subset": "subset", "error_position": "label"}
    for row in table.to_dict("records"):
        members = samples[(samples["run"] == row["run"]) & (samples["label"] >= 0)]
        if by in columns:
            members = members[members[columns[by]] == row[by]]
        else:
            first, _, last = row[by].partition("–")
            members = members[members["n_steps"].between(int(first), int(last or first))]
        hits, n = members["hit"].sum(), len(members)
        if n == 0:
            assert math.isnan(row["error_accuracy"])
            continue
        assert row["error_accuracy"] == pytest.approx(hits / n)
        lower, upper = proportion_confint(hits, n, method="wilson")
        assert row["error_accuracy_lower"] == pytest.approx(lower, abs=1e-6)
        assert row["error_accuracy_upper"] == pytest.approx(upper, abs=1e-6)


def test_relative_positions_are_fifths_of_the_solution(good):
    table = accuracy_by(good, "relative_position")
    samples = samples_frame(good).query("label >= 0")
    last = samples[samples["relative_position"] >= 0.8]
    shown = table[table["relative_position"] == "80–100%"]
    assert shown["samples"].sum() == len(last)
    assert table["samples"].sum() == samples["relative_position"].notna().sum()


def test_groupings_are_those_that_tell_samples_apart(good):
    found = groupings(good)
    assert found[:4] == ["error_position", "relative_position", "length", "subset"]
    # Only generated rows have a family. Of two groupings that agree, one is kept.
    assert "error_type" in found
    assert len(found) == len(set(found))


def test_outcomes_are_counted_once_each(good):
    table = findings(good)
    samples = samples_frame(good)
    assert table["samples"].sum() == len(samples)
    for run, group in samples[samples["label"] >= 0].groupby("run"):
        shown = table[(table["run"] == run) & (table["solutions"] == "with an error")]
        shown = shown.set_index("finding")["samples"]
        known = group.dropna(subset=["predicted"])
        assert shown["exact"] == (known["predicted"] == known["label"]).sum()
        early = (known["predicted"] >= 0) & (known["predicted"] < known["label"])
        assert shown["early"] == early.sum()
        late = (known["predicted"] > known["label"]) & (known["predicted"] < known["n_steps"])
        assert shown["late"] == late.sum()
        assert shown["missed"] == (known["predicted"] == -1).sum()
        assert shown["unread"] == group["predicted"].isna().sum()


def test_a_confusion_map_has_every_sample(good):
    table = confusion(good)
    assert table.groupby("run")["samples"].sum().eq(len(ROWS)).all()
    sums = table.groupby(["run", "labelled"])["share"].sum()
    assert sums.tolist() == pytest.approx([1.0] * len(sums))
    few = confusion(good, most=3)
    assert set(few["labelled"]) <= {"none", "0", "1", "2", "3+"}
    diagonal = table[table["labelled"] == table["predicted"]]
    hits = samples_frame(good)["hit"].sum()
    assert diagonal["samples"].sum() == hits


def test_votes_give_the_metrics_of_the_log(runs):
    table = votes_curve([runs.voted]).set_index("votes")
    metrics = runs.voted.metrics["first_error"]
    assert list(table.index) == [1, 2, 4]
    assert table.loc[1, "f1_score"] == pytest.approx(metrics["f1_score_at_1"])
    assert table.loc[2, "f1_score"] == pytest.approx(metrics["f1_score_at_2"])
    assert table.loc[4, "f1_score"] == pytest.approx(metrics["f1_score"])
    assert votes_curve([runs.weak]).empty


def test_calibration_counts_labelled_steps_alone(runs):
    table = calibration([runs.voted])
    right = sum(row.label if row.label >= 0 else len(row.steps) for row in ROWS)
    wrong = sum(row.label >= 0 for row in ROWS)
    # The fixture's rewards are 0.9 for right steps and 0.2 for wrong ones.
    shown = table.set_index("bin")
    assert shown.loc[0.9, "steps"] == right
    assert shown.loc[0.2, "steps"] == wrong
    assert (shown.loc[0.9, "right"], shown.loc[0.2, "right"]) == (1.0, 0.0)
    gap = (right * 0.1 + wrong * 0.2) / (right + wrong)
    assert table["calibration_error"].iloc[0] == pytest.approx(gap)
    brier = (right * 0.01 + wrong * 0.04) / (right + wrong)
    assert table["brier"].iloc[0] == pytest.approx(brier)
    assert calibration([runs.weak]).empty


def test_runs_tell_what_they_took(folder, good):
    table = runs_frame([*good, read_run(str(folder / "sub" / "failed.eval"))]).set_index("model")
    voted = table.loc["openai/gpt-4o-mini"]
    price = (voted["input_tokens"] * 0.15 + voted["output_tokens"] * 0.60) / 1e6
    assert voted["cost"] == pytest.approx(price)
    assert voted["cost_source"] == "list price"
    assert math.isnan(table.loc["openai/weak", "cost"])
    assert table.loc[LONG_NAME, "errored"] == 1 / len(ROWS)
    assert table.loc["openai/weak", "unparsed"] == good[1].metrics["first_error"]["unparsed"]
    assert (table["seconds_a_sample"] == 1.5).all()


def test_runs_of_one_name_are_told_apart(good):
    from dataclasses import replace

    twins = [good[0], replace(good[0], id="x", created="2026-05-05T00:00:00+00:00")]
    labels = runs_frame(twins)["run"]
    assert labels.is_unique


def test_every_metric_of_a_run_is_in_a_dataframe(good):
    table = metrics_frame(good[:1]).set_index(["scorer", "metric"])
    metrics = good[0].metrics["first_error"]
    assert table.loc[("first_error", "f1_score"), "value"] == metrics["f1_score"]
    assert table.loc[("first_error", "f1_score"), "lower"] == metrics["f1_score_lower"]
    assert ("first_error_lenient", "error_accuracy") in table.index
    assert "f1_score_lower" not in table.index.get_level_values("metric")


def test_frames_are_dataframes(good):
    assert isinstance(samples_frame(good), pandas.DataFrame)
