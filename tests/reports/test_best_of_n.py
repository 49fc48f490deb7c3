"""Best-of-n over recorded solutions, against enumeration and against other formulas."""

import gzip
import json
from itertools import combinations, permutations
from math import comb, prod
from random import Random
from statistics import fmean

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import MisstepError
from misstep.reports._best_of_n import expected_best, expected_majority, expected_oracle

AGGREGATIONS = {"last": lambda s: s[-1], "min": min, "product": prod, "mean": fmean}


def enumerated_best(worths, right, n):
    """All subsets, one after another; of equals the mean."""
    outcomes = []
    for subset in combinations(range(len(worths)), n):
        known = [i for i in subset if worths[i] is not None]
        best = [i for i in known if worths[i] == max(worths[j] for j in known)]
        outcomes.append(fmean(right[i] for i in best) if best else 0.0)
    return fmean(outcomes)


def enumerated_majority(answers, right, n):
    """All subsets in all orders: the first seen of the answers that most give."""
    outcomes = []
    for draw in permutations(range(len(answers)), n):
        votes = [answers[i] for i in draw if answers[i] is not None]
        if not votes:
            outcomes.append(0.0)
            continue
        most = max(votes.count(vote) for vote in votes)
        winner = next(vote for vote in votes if votes.count(vote) == most)
        outcomes.append(float(right[winner]))
    return fmean(outcomes)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_n_is_the_mean_over_all_subsets(seed):
    random = Random(seed)
    worths = [random.choice([None, 0.1, 0.5, 0.5, 0.9]) for _ in range(8)]
    right = [random.random() < 0.5 for _ in range(8)]
    for n in range(1, 9):
        assert expected_best(worths, right, n) == pytest.approx(enumerated_best(worths, right, n))
        any_right = fmean(any(s) for s in combinations(right, n))
        assert expected_oracle(right, n) == pytest.approx(any_right)


@pytest.mark.parametrize("seed", range(4))
def test_the_majority_of_n_is_the_mean_over_all_subsets_in_all_orders(seed):
    random = Random(seed)
    answers = [random.choice("abbc") if random.random() < 0.85 else None for _ in range(7)]
    right = {"a": seed % 2 == 0, "b": seed > 1, "c": True}
    names = sorted({answer for answer in answers if answer})
    sizes = [answers.count(name) for name in names]
    rights = [right[name] for name in names]
    for n in range(1, 7):
        expected = enumerated_majority(answers, right, n)
        got = expected_majority(sizes, rights, answers.count(None), n)
        assert got == pytest.approx(expected)


@pytest.fixture(scope="module")
def recorded(real_data):
    path = real_data / "recorded" / "gsm8k_best_of_32.jsonl.gz"
    problems = {}
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            problems.setdefault(row["problem_id"], []).append(row)
    return path, problems


def by_place(worths, right, n):
    """The same by another formula: the chance that each place of a ranking is the best drawn."""
    order = sorted(range(len(worths)), key=lambda i: -worths[i])
    total = 0.0
    for place, i in enumerate(order):
        equals = [right[j] for j in order if worths[j] == worths[i]]
        chance = comb(len(order) - 1 - place, n - 1) / comb(len(order), n)
        total += chance * fmean(equals)
    return total


def test_recorded_solutions_give_an_independently_computed_table(recorded, tmp_path):
    path, problems = recorded
    result = CliRunner().invoke(
        cli, ["best-of-n", str(path), "-o", str(tmp_path)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    # Answers were compared again: all labels are as recorded.
    assert "recorded label" not in result.output
    import csv

    with (tmp_path / "best_of_n.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    got = {(r["method"], r["aggregation"], int(r["n"])): float(r["accuracy"]) for r in rows}
    models = list(next(iter(problems.values()))[0]["prm_step_scores"])
    ns = (1, 2, 4, 8, 16, 32)
    assert len(models) == 7
    assert len(got) == 7 * 4 * 6 + 2 * 6
    right = {i: [row["is_correct_as_recorded"] for row in p] for i, p in problems.items()}
    for model in models:
        for name, worth in AGGREGATIONS.items():
            worths = {
                i: [worth(row["prm_step_scores"][model]) for row in rows]
                for i, rows in problems.items()
            }
            for n in ns:
                expected = fmean(by_place(worths[i], right[i], n) for i in problems)
                assert got[model, name, n] == pytest.approx(expected), (model, name, n)
    for n in ns:
        missed = fmean(comb(r.count(False), n) / comb(32, n) for r in right.values())
        assert got["oracle", "", n] == pytest.approx(1 - missed)
    # Of one or two votes the first decides; of all 32 the count does.
    mean = fmean(fmean(r) for r in right.values())
    assert got["majority", "", 1] == pytest.approx(mean)
    assert got["majority", "", 2] == pytest.approx(mean)
    wins = []
    for i, p in problems.items():
        answers = [row["extracted_answer"] for row in p]
        most = max(map(answers.count, answers))
        leaders = {answer for answer in answers if answers.count(answer) == most}
        wins.append(fmean(right[i][answers.index(answer)] for answer in leaders))
    assert got["majority", "", 32] == pytest.approx(fmean(wins))
    assert "<script" in (tmp_path / "best_of_n.html").read_text(encoding="utf-8")


def test_the_first_n_are_those_of_the_file(tmp_path):
    rows = [
        {
            "problem_id": "p",
            "problem": "?",
            "target": 4,
            "answer": answer,
            "steps": ["a"],
            "scores": [score],
        }
        for answer, score in (("5", 0.9), ("4.0", 0.5), ("4", 0.95), (None, 0.1))
    ]
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ["best-of-n", str(path), "--draws", "first", "--n", "2", "--n", "4", "-o"]
    CliRunner().invoke(cli, [*command, str(tmp_path)], catch_exceptions=False)
    lines = (tmp_path / "best_of_n.csv").read_text(encoding="utf-8").splitlines()
    got = {tuple(line.split(",")[:3]): float(line.split(",")[3]) for line in lines[1:]}
    assert (got["rewards", "min", "2"], got["rewards", "min", "4"]) == (0.0, 1.0)
    assert (got["majority", "", "2"], got["majority", "", "4"]) == (0.5, 1.0)


def test_the_table_fits_80_columns_and_has_the_numbers_of_the_json(tmp_path):
    scores = {"a_reward_model_with_a_long_name": [0.1], "b": [0.2]}
    rows = [
        {"problem_id": p, "problem": "?", "target": "4", "steps": ["a"], "scores": scores}
        | {"answer": "4" if (i + p) % 3 else "5"}
        for p in range(3)
        for i in range(40)
    ]
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ["best-of-n", str(path), *(word for n in range(1, 13) for word in ("--n", str(n)))]
    output = CliRunner().invoke(cli, command, catch_exceptions=False).output
    assert max(map(len, output.splitlines())) <= 80
    content = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert len(content["accuracies"]) == 12 * (2 * 4 + 2)
    for record in content["accuracies"]:
        assert f"{100 * record['accuracy']:.1f}" in output


GOOD = {"problem_id": "p", "problem": "?", "target": "4", "steps": ["a", "b"], "scores": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([GOOD | {"scores": [0.1]}], "1 scores of 'rewards' for 2 steps"),
        ([GOOD | {"scores": [0.1, 1.2]}], "the score 1.2 of 'rewards' is not from 0 to 1"),
        ([GOOD, GOOD | {"target": "5"}], "is '5' here and '4' in an earlier row"),
        ([GOOD, GOOD | {"scores": {"x": [0.1, 0.2]}}], "scored by x; an earlier row"),
        ([GOOD | {"target": None}], "target"),
        ([GOOD, GOOD, GOOD | {"problem_id": "q"}], "from 1 to 2 solutions"),
        ([], "hold no solutions"),
    ],
)
def test_a_bad_row_is_named(tmp_path, rows, says):
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(MisstepError, match=says):
        CliRunner().invoke(cli, ["best-of-n", str(path)], catch_exceptions=False)


def test_recorded_labels_that_the_answers_contradict_are_counted(tmp_path):
    """StrictPRMBench calls the label `is_correct`."""
    rows = [
        GOOD | {"problem_id": f"p{i}", "problem": "?", "answer": "4", "is_correct": label}
        for i in range(3)
        for label in (True, i == 1)
    ]
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = CliRunner().invoke(cli, ["best-of-n", str(path)], catch_exceptions=False)
    assert "2 solutions of 2 problems have another recorded label" in " ".join(
        result.output.split()
    )
    content = json.loads(CliRunner().invoke(cli, ["best-of-n", str(path), "--json"]).output)
    assert content["label_conflicts"] == {"p0": 1, "p2": 1}


def test_one_problem_under_several_ids_is_one_cluster(tmp_path):
    rows = [
        GOOD | {"problem_id": f"p{i}-{k}", "problem": f"{i}?", "answer": "4" if i % 2 else "5"}
        for i in range(10)
        for k in range(5)
    ]
    path = tmp_path / "solutions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = CliRunner().invoke(cli, ["best-of-n", str(path)], catch_exceptions=False)
    text = " ".join(result.output.split())
    assert "oracle: samples of one cluster are not independent." in text


def test_an_n_beyond_the_solutions_is_refused(tmp_path):
    path = tmp_path / "solutions.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    with pytest.raises(MisstepError, match="n=2: there are 1 solutions"):
        CliRunner().invoke(cli, ["best-of-n", str(path), "--n", "2"], catch_exceptions=False)
