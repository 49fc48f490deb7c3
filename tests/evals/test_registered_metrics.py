"""Every eval registers few metrics, they are right over epochs, and the samples have all others."""

import json
import statistics
from itertools import count

import pytest
from inspect_ai import Epochs
from inspect_ai.log import recompute_metrics
from inspect_ai.scorer import SampleScore, Score
from scipy.stats import t

from misstep.evals import (
    adversarial_numinamath,
    agent_process,
    deltabench,
    deltabench_sections,
    error_recovery,
    first_errors,
    guided_search,
    mistake_finding,
    mr_ben,
    prmbench,
    procedural,
    processbench,
    who_and_when,
)
from misstep.scorers._published_judging import _judging
from tests.evals.test_mr_ben import FIELDS, reply as mark, solution
from tests.evals.test_prmbench import ROWS as STEPS, reply as judge
from tests.evals.test_who_and_when import ROW as FAILURE
from tests.support.openai_server import OpenAIServer
from tests.support.rows import delta_row
from tests.support.runs import local_model, metrics_of, succeed, table_of

MOST = 15
FIRST_ERROR = {
    *("f1_score", "f1_score_lower", "f1_score_upper", "error_accuracy", "correct_accuracy"),
    *("error_count", "correct_count", "unparsed", "truncated", "stderr"),
}
MISTAKES = [
    {"task": f"task {i}", "input": f"Input {i}", "steps": ["x", "y", "z"]}
    | {"target": "t", "answer": "u", "mistake_index": i % 2 or None}
    for i in range(4)
]
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


def once(reply, others="Hm."):
    """The reply to the first request of each text, and another one to all further requests."""
    seen = set()

    def answer(request, choice):
        known = request.text in seen
        seen.add(request.text)
        return others if known else reply

    return answer


LABELS = '{"validity": [1, 1, 1], "redundancy": [-1, 0.5, -1]}'


@pytest.mark.parametrize("scorer", ["mistake_location", "marking", "step_validity"])
def test_every_scorer_counts_unread_replies_of_all_epochs(serve, tmp_path, scorer):
    marks = {f"a-{i}": [solution(f"a-{i}", "incorrect", "2")] for i in range(3)}
    (tmp_path / "marks.json").write_text(json.dumps(marks))
    task, reply, count = {
        "mistake_location": (
            lambda: mistake_finding(source=rows_file(tmp_path, MISTAKES)),
            "No",
            len(MISTAKES),
        ),
        "marking": (
            lambda: mr_ben(source=str(tmp_path / "marks.json")),
            FIELDS.format("incorrect", "Step 2"),
            len(marks),
        ),
        "step_validity": (lambda: prmbench(source=rows_file(tmp_path, STEPS)), LABELS, len(STEPS)),
    }[scorer]
    log, _ = serve(task(), once(reply), epochs=2, max_samples=1)
    got = metrics_of(log, scorer)
    assert (got["unparsed"], got["truncated"]) == (0.5, 0)
    assert table_of(log, scorer)["unparsed"] == 0.5
    assert table_of(log, scorer)["total_count"] == count
    if scorer == "mistake_location":
        assert got["said_no"] == 0.5


def test_the_published_rule_leaves_out_only_the_epochs_that_it_cannot_read(serve, tmp_path):
    tables = []
    for replies in ((LABELS, "Hm."), ("Hm.", LABELS)):
        task = prmbench(source=rows_file(tmp_path, STEPS))
        log, _ = serve(task, once(*replies), epochs=2, max_samples=1)
        tables.append(table_of(log, "step_validity_published"))
    assert tables[0] == tables[1]
    assert tables[0]["step_count"] == 12


def test_published_judgements_count_every_epoch():
    """MathCheck's mean over types of question; its groups are the units of the interval."""
    scores = [
        SampleScore(
            score=Score(value="C" if (group + kind) % 3 else "I", answer=answer),
            sample_id=f"{group}-{kind}",
            sample_metadata={"subset": str(kind), "cluster": str(group)},
        )
        for group in range(9)
        for kind in range(2)
        for answer in ("Step 1", None)
    ]
    found = dict(_judging(scores))
    assert (found["none_count"], found["total_count"]) == (18, 36)
    assert found["process_judging"] == pytest.approx(2 / 3)
    groups = [sum((group + kind) % 3 > 0 for kind in range(2)) / 2 for group in range(9)]
    spread = t.ppf(0.975, 8) * statistics.stdev(groups) / 3
    width = found["process_judging_upper"] - found["process_judging_lower"]
    assert width == pytest.approx(2 * spread, rel=0.15)


def test_final_answers_over_epochs(serve):
    # Another answer, and more tokens, in the second epoch.
    reply = once(r"\boxed{3}", r"In other words, it is \boxed{4}")
    task = guided_search(source="sample", method="plain")
    log, _ = serve(task, reply, limit=4, epochs=2, max_samples=1)
    got = metrics_of(log, "final_answer")
    assert (got["unanswered"], got["unfinished"]) == (0, 0)
    tokens = [sample.scores["final_answer"].metadata["budget"]["tokens"] for sample in log.samples]
    assert len(set(tokens)) > 1
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


def failure_file(tmp_path):
    path = tmp_path / "failures.jsonl"
    path.write_text(json.dumps(FAILURE))
    return str(path)


def rows_file(tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_evals_with_several_scorers_register_few_metrics(tmp_path, serve):
    marks = tmp_path / "marks.json"
    marks.write_text(json.dumps({"a-0": [solution("a-0", "incorrect", "2")]}))
    logs = {
        "attribution": succeed(
            who_and_when(source=failure_file(tmp_path), critic="last_step"), tmp_path
        ),
        "step_labels": succeed(agent_process(source="agent_sample", critic="last_step"), tmp_path),
        "step_validity": serve(prmbench(source=rows_file(tmp_path, STEPS)), judge)[0],
        "marking": serve(mr_ben(source=str(marks)), mark)[0],
        "mistake_location": succeed(
            mistake_finding(source=rows_file(tmp_path, MISTAKES), critic="no_error"), tmp_path
        ),
    }
    dropped = {
        "attribution": "out_of_range",
        "step_labels": "first_error_accuracy_lower",
        "step_validity": "step_count",
        "marking": "error_accuracy",
    }
    for scorer, log in logs.items():
        assert log.status == "success", log.error
        assert 0 < len(registered(log)) <= MOST, registered(log)
        assert log.results.headline is not None
        table = table_of(log, scorer)
        for name, value in metrics_of(log, scorer).items():
            assert table[name] == pytest.approx(value, nan_ok=True), name
        if scorer in dropped:
            assert dropped[scorer] not in metrics_of(log, scorer)
            assert dropped[scorer] in table
    for scorer in ("step_validity", "mistake_location"):
        assert "f1_score" in table_of(logs[scorer], "first_error")


def test_marks_with_a_grader_register_few_metrics(tmp_path):
    marks = tmp_path / "marks.json"
    marks.write_text(json.dumps({"a-0": [solution("a-0", "incorrect", "2")]}))
    with OpenAIServer(mark) as server:
        roles = {"grader": local_model(server)}
        task = mr_ben(source=str(marks))
        log = succeed(task, tmp_path, local_model(server), model_roles=roles)
    assert "mr_score" in metrics_of(log, "marking")
    assert len(registered(log)) <= MOST


def test_finding_errors_in_own_transcripts_registers_few_metrics(tmp_path):
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}
    task = first_errors(log=rows_file(tmp_path, [row]), critic="last_step")
    assert len(registered(succeed(task, tmp_path))) <= MOST
