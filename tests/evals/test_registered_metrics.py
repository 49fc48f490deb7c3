"""Every eval registers few metrics, they are right over epochs, and the samples have all others."""

import json
from itertools import count

import pytest
from inspect_ai import Epochs
from inspect_ai.log import recompute_metrics

from misstep.evals import (
    adversarial_numinamath,
    deltabench,
    deltabench_sections,
    error_recovery,
    guided_search,
    procedural,
    processbench,
)
from tests.support.rows import delta_row
from tests.support.runs import metrics_of, succeed, table_of

MOST = 15
FIRST_ERROR = {
    *("f1_score", "f1_score_lower", "f1_score_upper", "error_accuracy", "correct_accuracy"),
    *("error_count", "correct_count", "unparsed", "truncated", "stderr"),
}
BOUNDS = {f"{kind}_accuracy_{end}" for kind in ("error", "correct") for end in ("lower", "upper")}


def registered(log):
    """The names of all metrics in the results, with those of other scorers."""
    return [(score.name, name) for score in log.results.scores for name in score.metrics]


@pytest.fixture
def delta_file(tmp_path):
    path = tmp_path / "delta.jsonl"
    rows = [delta_row(f"d{i}", ("One.", "Two."), [1] if i % 2 else []) for i in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_run_of_four_subsets_has_their_f1_and_its_mean(tmp_path):
    subsets = {"gsm8k", "math", "olympiadbench", "omnimath"}
    rows = [
        {"problem": f"{name} {label}", "steps": ["a", "b"], "label": label, "subset": name}
        for name in subsets
        for label in (-1, 0, 1)
    ]
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    log = succeed(processbench(source=str(file), critic="last_step"), tmp_path)
    names = set(metrics_of(log))
    assert names == FIRST_ERROR | {"mean_subset_f1_score"} | {f"{s}_f1_score" for s in subsets}
    assert len(registered(log)) == MOST
    assert not BOUNDS - table_of(log).keys()


def test_a_run_of_one_subset_or_of_many_has_the_bounds_of_its_accuracies(tmp_path):
    one = succeed(processbench(source="sample", subset="science", critic="no_error"), tmp_path)
    many = succeed(procedural(n=40, critic="no_error"), tmp_path)
    for log in (one, many):
        assert set(metrics_of(log)) == FIRST_ERROR | BOUNDS
        assert len(registered(log)) <= MOST


def test_the_other_evals_register_few_metrics(tmp_path, serve, delta_file):
    logs = [
        succeed(deltabench(source=delta_file, critic="no_error"), tmp_path),
        succeed(deltabench_sections(source=delta_file, critic="no_error"), tmp_path),
        succeed(adversarial_numinamath(critic="no_error"), tmp_path),
        serve(error_recovery(source="generated", per_task=1), lambda *_: "no")[0],
        serve(guided_search(source="sample", method="plain"), lambda *_: "no", limit=2)[0],
    ]
    for log in logs:
        assert log.status == "success"
        assert len(registered(log)) <= MOST, registered(log)
        assert log.results.headline is not None


def test_what_is_registered_is_in_the_table_too(tmp_path, serve, delta_file):
    logs = {
        "first_error": succeed(procedural(n=20, critic="last_step"), tmp_path),
        "detections": succeed(adversarial_numinamath(critic="last_step"), tmp_path),
        "error_sections": succeed(
            deltabench_sections(source=delta_file, critic="all_sections"), tmp_path
        ),
        "final_answer": serve(
            guided_search(source="sample", method="plain"), lambda *_: r"\boxed{3}", limit=3
        )[0],
    }
    for scorer, log in logs.items():
        table = table_of(log, scorer)
        for name, value in metrics_of(log, scorer).items():
            assert table[name] == pytest.approx(value, nan_ok=True), name


def test_lenient_metrics_come_from_the_samples(tmp_path):
    log = succeed(processbench(source="sample", critic="no_error"), tmp_path)
    assert "first_error_lenient" not in {
        score.name for score in log.results.scores if score.metrics
    }
    assert table_of(log, "first_error_lenient")["correct_accuracy"] == 1


def turns(*replies):
    """Return each reply to as many requests in turn."""
    numbers = count()
    return lambda request, choice: replies[next(numbers) % len(replies)]


def test_shares_of_unread_replies_are_over_all_epochs(serve):
    task = processbench(source="sample", subset="science")
    # The first epoch is readable, the second is not.
    replies = [r"\boxed{-1}"] * 4 + ["no box"] * 4
    log, _ = serve(task, turns(*replies), limit=4, epochs=2, max_samples=1)
    assert metrics_of(log)["unparsed"] == table_of(log)["unparsed"] == 0.5


def test_final_answers_over_epochs(serve):
    log, _ = serve(
        guided_search(source="sample", method="plain"), lambda *_: r"\boxed{3}", limit=4, epochs=2
    )
    got = metrics_of(log, "final_answer")
    assert (got["unanswered"], got["unfinished"]) == (0, 0)
    tokens = [sample.scores["final_answer"].metadata["budget"]["tokens"] for sample in log.samples]
    assert got["mean_tokens"] == sum(tokens) / 8
    assert got["total_count"] == 4


def test_the_headline_of_injected_errors_over_epochs(serve):
    task = adversarial_numinamath()
    labels = {sample.input: sample.target for sample in task.dataset}

    def right_once(request, choice):
        problem = next(problem for problem in labels if problem in request.text)
        seen[problem] = seen.get(problem, 0) + 1
        return rf"\boxed{{{labels[problem] if seen[problem] == 1 else 0}}}"

    seen = {}
    log, _ = serve(task, right_once, limit=8, epochs=2)
    got = metrics_of(log, "detections")
    assert got["first_error_accuracy"] == 0.5
    assert (got["total"], got["false_positives"]) == (16, 8)
    assert log.results.headline.metric == "first_error_accuracy"


def test_accuracies_over_epochs_have_the_interval_of_the_data(tmp_path):
    got = metrics_of(succeed(procedural(n=40, critic="no_error"), tmp_path, epochs=2))
    # 20 samples twice are not 40 samples.
    assert (got["correct_accuracy"], got["correct_count"]) == (1, 20)
    assert got["correct_accuracy_lower"] == pytest.approx(20 / (20 + 1.96**2), abs=1e-3)


@pytest.mark.parametrize("reducer", ["misstep/vote", "mode", "max"])
def test_reducers_of_epochs_reduce_the_headline(serve, reducer):
    task = processbench(source="sample", subset="science")
    targets = [sample.target for sample in list(task.dataset)[:1]]
    replies = [rf"\boxed{{{targets[0]}}}", rf"\boxed{{{targets[0]}}}", r"\boxed{77}"]
    log, _ = serve(task, turns(*replies), limit=1, epochs=Epochs(3, reducer), max_samples=1)
    assert log.status == "success"
    got, table = metrics_of(log), table_of(log)
    name = "correct_accuracy" if targets[0] == "-1" else "error_accuracy"
    assert got[name] == table[name] == 1


def test_recomputing_the_metrics_of_a_log_changes_nothing(tmp_path):
    log = succeed(adversarial_numinamath(critic="last_step"), tmp_path)
    before = metrics_of(log, "detections")
    recompute_metrics(log)
    assert metrics_of(log, "detections") == pytest.approx(before, nan_ok=True)


def test_reading_epochs_prints_nothing(tmp_path, caplog):
    log = succeed(adversarial_numinamath(critic="last_step"), tmp_path, epochs=2, limit=4)
    caplog.clear()
    assert table_of(log, "detections")["total"] == 8
    assert not caplog.records
