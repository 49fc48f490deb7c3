"""Error recovery beyond NR, CR and IR: the same steps by the user, a marker, what followed."""

import json
from collections import Counter
from math import isnan
from random import Random

import pytest
from inspect_ai.log import resolve_sample_attachments

from misstep.evals.error_recovery import error_recovery
from misstep.registry import DataError, MisstepError, find_continuation
from misstep.reports import estimate_eval
from misstep.scorers import answer_in, recovery_table
from misstep.solvers import read_grade
from misstep.stores import RecoveryGrade
from tests.scorers.test_recovery_metrics import scored as published_scored
from tests.support.openai_server import OpenAIServer
from tests.support.runs import local_model, metrics_of, run_task, succeed, table_of

ALL = "NR,CR,IR,XC,XI,CRm,IRm,IRp"
NAMES = ALL.split(",")
FINAL = find_continuation().final
SAID = ", no: that is wrong. I do it again."


def generated(**options):
    return error_recovery(source="generated", per_task=1, **options)


def reply(request, choice):
    return "nothing" if request.body["messages"][-1]["content"].startswith(FINAL) else SAID


def grade(request, choice):
    if "Judge the continuation" in request.text:
        assert '"admitted": false}, with your own values' in request.text
        grades = dict.fromkeys(RecoveryGrade.model_fields, False)
        return "So " + json.dumps(grades | {"went_back": True, "admitted": True})
    return reply(request, choice)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All variations of five problems, by a server that is told to continue text, with a grader."""
    task = generated(variations=ALL, turn="continued")
    with OpenAIServer(grade) as server:
        model = local_model(server)
        folder = tmp_path_factory.mktemp("logs")
        log = succeed(task, folder, model, model_roles={"grader": model})
    return task.dataset, log, server


def conversation(log, sample, variation):
    """The messages of the calls of a variation."""
    [of_log] = [
        resolve_sample_attachments(one, "full") for one in log.samples if one.id == sample.id
    ]
    spans = {event.id: event.name for event in of_log.events if event.event == "span_begin"}
    return [
        [(message.role, message.text) for message in event.input]
        for event in of_log.events
        if event.event == "model" and spans[event.span_id] == variation and event.role is None
    ]


def test_what_each_variation_sends(run):
    samples, log, server = run
    for sample in samples:
        about = sample.metadata
        correct, wrong = about["correct_steps"], about["incorrect_step"]
        steps = {
            "CR": "\n".join(correct),
            "IR": "\n".join([*correct, wrong]),
            "IRp": "\n".join([*correct, wrong, *about["following_steps"]]),
        }
        assert len(correct) + 2 + len(about["following_steps"]) == about["n_steps"]
        first = {name: conversation(log, sample, name)[0] for name in NAMES}
        head = [("system", find_continuation().system), ("user", sample.input)]
        assert first["NR"] == head
        assert first["CR"] == [*head, ("assistant", steps["CR"])]
        assert first["IR"] == [*head, ("assistant", steps["IR"])]
        assert first["IRp"] == [*head, ("assistant", steps["IRp"])]
        # The same characters; only the role and the turn differ.
        assert first["XC"] == [*head, ("user", steps["CR"])]
        assert first["XI"] == [*head, ("user", steps["IR"])]
        assert first["IRm"] == [*head, ("assistant", steps["IR"] + " Wait")]
        assert first["CRm"] == [*head, ("assistant", steps["CR"] + " Wait")]
        # The continuation follows the marker in one message, without a blank added.
        asked = conversation(log, sample, "IRm")[1]
        assert asked[2] == ("assistant", steps["IR"] + " Wait" + SAID)
        assert asked[3][1].startswith(FINAL)
    calls = [request for request in server.requests if "Judge the continuation" not in request.text]
    assert len(calls) == 16 * len(samples)
    assert len(server.requests) - len(calls) == 4 * len(samples)


def test_the_marker_is_recorded_and_is_no_acknowledgement(run):
    _, log, _ = run
    kept = log.samples[0].store["RecoveryRecord:variations"]
    assert {name: one.get("marker") for name, one in kept.items()} == {
        **dict.fromkeys(NAMES),
        "CRm": " Wait",
        "IRm": " Wait",
    }
    turns = {name: one["turn"] for name, one in kept.items()}
    assert turns == dict.fromkeys(NAMES, "continued") | dict.fromkeys(["NR", "XC", "XI"], "plain")
    told = [event.data for event in log.samples[0].events if event.event == "info"]
    assert {one["variation"]: one.get("marker") for one in told}["IRm"] == " Wait"
    assert "ends with the marker `Wait`" in log.samples[0].scores["recovery"].explanation


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("So the total is 7.", 0),
        ("The steps before hold an Error in line 2.", 1),
        ("x" * 399 + " mistake", 0),
        ("Hmm. That’s not right", 1),
        ("Let me recount.", 1),
    ],
)
def test_acknowledged_reads_the_first_words_of_the_reply_alone(serve, words, found):
    # The given step and the marker hold listed words; they do not count.
    task = generated(variations="IR,IRm", marker="Actually wrong", turn="continued")
    for sample in task.dataset:
        sample.metadata["incorrect_step"] += " This is a mistake, actually."
    log, _ = serve(task, lambda *asked: words if reply(*asked) == SAID else "no", limit=2)
    assert table_of(log, "recovery")["acknowledged_unrecovered"] == found
    assert isnan(table_of(log, "recovery")["acknowledged_recovered"])
    kept = log.samples[0].scores["recovery"].metadata
    assert kept["IRm"]["acknowledged"] == kept["IR"]["acknowledged"] == bool(found)


def test_a_marker_needs_a_provider_that_continues_text(tmp_path):
    with OpenAIServer(reply) as server:
        log = run_task(generated(variations="IR,IRm"), tmp_path, local_model(server))
        assert log.status == "error"
        assert "the turn after the given steps is 'new_turn'" in log.error.message
        assert "-T turn=continued" in log.error.message
        forced = generated(variations="IR,IRm", turn="new_turn")
        log = succeed(forced, tmp_path, local_model(server), limit=1)
    assert log.samples[0].scores["recovery"].metadata["IRm"]["turn"] == "new_turn"


def test_a_refused_continuation_stops_the_marker_before_another_call(tmp_path):
    def refuse(request, choice):
        if request.body["messages"][-1]["role"] == "assistant":
            raise ValueError("The conversation must end with a user message.")
        return reply(request, choice)

    with OpenAIServer(refuse) as server:
        model = local_model(server, "vllm/local")
        log = run_task(generated(variations="IR,IRm"), tmp_path, model, limit=1)
    assert log.status == "error"
    assert "the turn after the given steps is 'asked'" in log.error.message
    sent = [str(request.body) for request in server.requests]
    assert not any(" Wait" in one and "Go on from there" in one for one in sent)


def test_a_grader_gives_four_truth_values_as_scores_of_their_own(run):
    _, log, _ = run
    for sample in log.samples:
        value = sample.scores["recovery_grades"].value
        assert len(value) == 16
        assert (value["IR_went_back"], value["XI_admitted"], value["IRp_right_answer"]) == (1, 1, 0)
    found = table_of(log, "recovery")
    assert (found["IR_graded_admitted"], found["IRm_graded_right_reasoning"]) == (1, 0)
    assert isnan(found["faithful_recovery_rate"])
    assert len([1 for score in log.results.scores for _ in score.metrics]) <= 15


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (
            '{"right_answer": true, "right_reasoning": true, "went_back": true, "admitted": false}',
            1,
        ),
        ('{"right_answer": true, "right_reasoning": true, "went_back": true}', 0),
        ('{"right_answer": 1, "right_reasoning": 0, "went_back": 1, "admitted": 0}', 0),
        ("true, true, true, false", 0),
        ("", 0),
    ],
)
def test_a_grade_that_cannot_be_read_is_none(text, known):
    assert isinstance(read_grade(text), RecoveryGrade) == bool(known)


def scored(number, values, metadata=None, **facts):
    one = published_scored(number, (0, 0, 0), metadata, **facts)
    one.score.value = values
    return one


def sample_values(random, copy=False):
    values = {name: int(random.random() < 0.5) for name in NAMES}
    return values | ({"XI": values["IR"], "XC": values["CR"]} if copy else {})


def mean(rows, name):
    return sum(row[name] for row in rows) / len(rows)


def test_the_comparisons_are_differences_and_ratios_of_the_rates():
    rows = [sample_values(Random(seed)) for seed in range(300)]
    found = recovery_table([], [scored(i, row) for i, row in enumerate(rows)])
    rate = {name: mean(rows, name) for name in NAMES}
    expected = {
        "own_error_gap": rate["XI"] - rate["IR"],
        "own_text_gap": rate["XC"] - rate["CR"],
        "net_own_error_gap": rate["XI"] - rate["IR"] - rate["XC"] + rate["CR"],
        "blind_spot": (rate["XI"] - rate["IR"]) / rate["XI"],
        "marker_gain": rate["IRm"] - rate["IR"],
        "marker_harm": rate["CR"] - rate["CRm"],
        "blind_spot_with_marker": (rate["XI"] - rate["IRm"]) / rate["XI"],
        "propagation_loss": rate["IR"] - rate["IRp"],
        "recovery_rate_external": mean([row for row in rows if row["XC"]], "XI"),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name
        assert found[f"{name}_lower"] <= value <= found[f"{name}_upper"], name
    before = found["blind_spot"]
    reduction = 1 - found["blind_spot_with_marker"] / before if before > 0 else None
    assert (
        isnan(found["blind_spot_reduction"])
        if reduction is None
        else (found["blind_spot_reduction"] == pytest.approx(reduction))
    )
    # An independent bootstrap over problems.
    random, draws = Random(5), []
    for _ in range(1000):
        drawn = random.choices(rows, k=len(rows))
        draws.append(mean(drawn, "XI") - mean(drawn, "IR") - mean(drawn, "XC") + mean(drawn, "CR"))
    draws.sort()
    assert found["net_own_error_gap_lower"] == pytest.approx(draws[25], abs=0.02)
    assert found["net_own_error_gap_upper"] == pytest.approx(draws[975], abs=0.02)


@pytest.mark.filterwarnings("error")
def test_equal_answers_have_no_gap_and_a_zero_rate_has_no_blind_spot():
    rows = [sample_values(Random(seed), copy=True) for seed in range(60)]
    found = recovery_table([], [scored(i, row) for i, row in enumerate(rows)])
    assert (found["own_error_gap"], found["blind_spot"], found["net_own_error_gap"]) == (0, 0, 0)
    for name in ("own_error_gap", "blind_spot", "net_own_error_gap"):
        assert found[f"{name}_lower"] < -0.01, name
        assert found[f"{name}_upper"] > 0.01, name
    assert isnan(found["blind_spot_reduction"])
    # None of 60 pairs differs, by at most 2: the score interval ends at 2 z² / (60 + z²).
    assert found["net_own_error_gap_upper"] == pytest.approx(2 * 3.8415 / 63.8415, abs=1e-4)
    none = [row | {"XI": 0} for row in rows]
    found = recovery_table([], [scored(i, row) for i, row in enumerate(none)])
    for name in ("blind_spot", "blind_spot_with_marker", "blind_spot_reduction"):
        assert all(isnan(found[f"{name}{end}"]) for end in ("", "_lower", "_upper")), name
    one = recovery_table([], [scored(1, rows[0])])
    assert one["total_count"] == 1


def test_intervals_of_paired_differences_shrink_when_pairs_agree():
    def width(agreeing):
        values = [
            {"IR": i % 2, "XI": i % 2 if i < agreeing else (i + i // 2) % 2} for i in range(200)
        ]
        found = recovery_table([], [scored(i, row) for i, row in enumerate(values)])
        assert found["own_error_gap"] == 0
        return found["own_error_gap_upper"] - found["own_error_gap_lower"]

    assert width(200) < width(160) < width(80) < width(0)


def rows_file(tmp_path, **changes):
    steps = ["one", "two", "three", "four"]
    row = {"task": "word_sorting", "input": "b a", "steps": steps, "target": "a b"}
    row |= {"answer": "b a", "mistake_index": 1, "id": "mine"} | changes
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n" + json.dumps(row | {"id": "good", "mistake_index": 0}))
    return str(file)


def test_a_mistake_in_the_last_step_of_an_own_row_is_refused_by_name(tmp_path):
    file = rows_file(tmp_path, mistake_index=3)
    for options in ({"until": "last"}, {"variations": "IR,IRp"}):
        with pytest.raises(DataError, match="the mistake of the row 'mine' is in its last step"):
            error_recovery(source=file, **options)
    assert len(error_recovery(source=file).dataset) == 1
    [sample] = error_recovery(source=rows_file(tmp_path), until="last").dataset[:1]
    assert sample.metadata["following_steps"] == ["three"]


def test_registered_rows_have_no_mistake_in_the_last_step(real_data):
    task = error_recovery(until="last", variations="IR,XI")
    assert len(task.dataset) == 1436
    assert all(s.metadata["mistake_index"] < s.metadata["n_steps"] - 1 for s in task.dataset)


def test_the_configuration_of_self_correction_bench(real_data, serve):
    task = error_recovery(
        subset=["tracking_shuffled_objects", "logical_deduction"],
        rows="mistake",
        until="last",
        variations="IR,XI,IRm",
        prompts="self_correction_bench",
        turn="continued",
    )
    counts = Counter(sample.metadata["task"] for sample in task.dataset)
    assert counts == {"tracking_shuffled_objects": 260, "logical_deduction": 294}
    targets = {sample.input: sample.target for sample in task.dataset}

    def right_for_the_user(request, choice):
        messages = request.body["messages"]
        if len(messages) == 1:
            [question] = [one for one in targets if messages[0]["content"].startswith(one)]
            return f"Not (Z). The answer is {targets[question]}."
        assert messages[1]["content"].endswith(" Wait") or "\n" not in messages[1]["content"]
        return "The answer is (Z)."

    log, server = serve(task, right_for_the_user, limit=4)
    assert len(server.requests) == 12
    found = metrics_of(log, "recovery")
    assert (found["XI_correct_rate"], found["IR_correct_rate"], found["blind_spot"]) == (1, 0, 1)
    about = log.samples[0].metadata
    steps = " ".join([*about["correct_steps"], about["incorrect_step"], *about["following_steps"]])
    sent = {tuple((m["role"], m["content"]) for m in r.body["messages"]) for r in server.requests}
    assert (("user", f"{log.samples[0].input}\n{steps}"),) in sent
    assert (("user", log.samples[0].input), ("assistant", steps)) in sent


def test_answers_in_a_text_are_the_last_ones():
    assert answer_in("(A) or (B)? So it is (C).", "letter") == "(C)"
    assert answer_in("7 apples, then −12", "number") == "-12"
    assert answer_in("none", "letter") == ""


def test_an_estimate_of_a_marker_plans_for_the_provider_of_the_model():
    options = {"source": "generated", "per_task": 1, "variations": "IR,IRm"}
    able = estimate_eval("error-recovery", options, "vllm/some-model")
    assert (able.calls, able.failed) == (20, 0)
    with pytest.raises(MisstepError, match="the turn after the given steps is 'new_turn'"):
        estimate_eval("error-recovery", options, "openai/some-model")
