"""Leaderboards: who is ranked, who is tied, and how runs are told apart in words."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binomtest

from misstep.reports import benchmarks, compare, leaderboard
from misstep.reports._board import board_table
from misstep.reports._comparison import SharedSamples
from misstep.reports._leaderboard import published_rows
from misstep.reports._paired import FIRST_VALUE, exchange_ps, mean_of
from misstep.reports._read_runs import Logs
from misstep.reports._report import build_report
from misstep.reports._runs import protocols, run_labels


def variants(run, **traits):
    """Copies of a run that were asked in other ways."""
    asked = [
        dict(zip(traits, values, strict=True)) for values in zip(*traits.values(), strict=True)
    ]
    return [replace(run, id=f"{run.id} {own}", traits={**run.traits, **own}) for own in asked]


def test_a_protocol_has_only_words_for_what_differs(runs):
    search = variants(
        runs.strong, method=["greedy", "best_of_n", "majority"], reward_model=["prm", "prm", "prm"]
    )
    assert list(protocols(search).values()) == ["greedy", "best_of_n", "majority"]
    rewards = variants(runs.strong, method=["greedy"] * 2, reward_model=["prm/a", "prm/b"])
    assert list(protocols(rewards).values()) == ["reward model prm/a", "reward model prm/b"]
    reduced = variants(runs.strong, epochs=[4, 4], reducer=["mean", "misstep/vote"])
    assert [words.split(", ")[-1] for words in protocols(reduced).values()] == [
        "mean",
        "misstep/vote",
    ]
    votes = variants(runs.strong, critic=["critique"] * 2, votes=[1, 8])
    assert list(protocols(votes).values()) == ["1 vote", "8 votes"]
    assert len(set(run_labels([*search, *rewards, *reduced, *votes]).values())) == 9
    assert set(protocols([runs.strong, runs.weak]).values()) == {""}


def test_a_small_run_is_marked_and_has_no_rank(runs):
    few = replace(runs.strong, id="few", samples=runs.strong.samples[:9])
    [benchmark] = benchmarks([runs.weak, few, runs.voted])
    table = leaderboard(benchmark).set_index("source")
    assert list(table["rank"].dropna()) == [1, 2]
    alone = table[table["apart"] != ""]
    assert list(alone["apart"]) == [f"9 of {len(runs.weak.scored)} samples"]
    # Among runs of one size nobody is apart.
    [small] = benchmarks([few])
    assert list(leaderboard(small)["apart"]) == [""]


def test_ties_are_those_of_the_paired_tests(runs):
    three = [runs.strong, runs.weak, runs.voted]
    [benchmark] = benchmarks(three)
    table = leaderboard(benchmark)
    comparison = compare(three, metric="f1_score")
    groups = [{comparison.runs[x].name for x in group} for group in comparison.tied_groups()]
    shown = [
        set(table[table["tied"].str.contains(letter)]["name"])
        for letter in sorted(set("".join(table["tied"])))
    ]
    assert all(table["tied"])
    assert [names for names in shown if len(names) > 1] == groups
    assert board_table(benchmark).count(f"| {table['tied'][0]} |") >= 1


def test_the_test_of_all_pairs_is_that_of_each_pair(runs):
    """Of shares it is McNemar's test; of F1 the permutation test that `compare` makes."""
    three = [runs.strong, runs.weak, runs.voted]
    shared = SharedSamples.of(three, "strict")
    clusters = np.unique(shared.clusters, return_inverse=True)[1]
    for name in ("f1_score", "accuracy"):
        [metric] = shared.metrics(name)
        values, ps = exchange_ps(
            shared.own, shared.values, clusters, metric.statistic(FIRST_VALUE), 40_000
        )
        compared = compare(three, metric=name, resamples=40_000).contrasts
        for one, (a, b) in zip(compared, ps, strict=True):
            assert (values[a], values[b]) == pytest.approx((one.first_value, one.second_value))
            assert ps[a, b] == pytest.approx(one.p, abs=4 * sqrt(one.p / 40_000) + 1e-4)


def test_the_test_of_all_pairs_exchanges_whole_clusters():
    generator = np.random.default_rng(3)
    first = (generator.random(300) < 0.60).astype(float)
    second = np.where(generator.random(300) < 0.8, first, generator.random(300) < 0.75)
    values = [one[:, np.newaxis] for one in (first, second, first)]
    clusters = np.arange(300)
    means, ps = exchange_ps(np.zeros((300, 1)), values, clusters, mean_of(1), 40_000)
    assert means == pytest.approx([first.mean(), second.mean(), first.mean()])
    differing = int((first != second).sum())
    exact = binomtest(int((second > first).sum()), differing).pvalue
    assert ps[0, 1] == pytest.approx(exact, abs=4 * sqrt(exact / 40_000))
    assert ps[0, 2] == 1
    # Twins in clusters are one unit, and count as one.
    doubled = [np.repeat(one, 2, axis=0) for one in values]
    twins = exchange_ps(np.zeros((600, 1)), doubled, np.repeat(clusters, 2), mean_of(1), 40_000)
    assert twins[1] == ps


def test_other_versions_and_other_rows_stand_apart_with_the_reason(runs):
    changed = [replace(one, target="0") for one in runs.weak.samples]
    others = [
        replace(runs.weak, id="older", version="0"),
        replace(runs.weak, id="edited", samples=changed),
    ]
    found = benchmarks([runs.strong, *others])
    assert [len(one.runs) for one in found] == [1, 1, 1]
    assert len({one.key for one in found}) == 3
    reasons = " ".join(found[0].apart)
    assert "version 0 of the eval is scored differently" in reasons
    count = sum(one.target != "0" for one in runs.weak.samples)
    assert f"{count} samples have the same ids but another problem or label" in reasons
    sections = build_report(Logs([runs.strong, *others], [])).sections
    assert all(len(section.apart) == 2 for section in sections)


@pytest.mark.parametrize(
    ("traits", "asked"),
    [
        ({"critic": "critique", "votes": 1}, {"single", "critic"}),
        ({"critic": "critique", "votes": 8}, {"maj@8"}),
        ({"critic": "stepwise", "votes": 1}, set()),
        ({"critic": "critique", "votes": 8, "adaptive": True}, set()),
    ],
)
def test_published_results_have_the_protocol_of_a_run(runs, traits, asked):
    run = replace(runs.strong, data="processbench", traits=traits)
    samples = [replace(one, facets={"subset": "math"}) for one in run.samples]
    [benchmark] = benchmarks([replace(run, data="processbench-math", samples=samples)])
    rows = list(published_rows(benchmark, ["f1_score"]))
    assert {row["protocol"] for row in rows} == asked
