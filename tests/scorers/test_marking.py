"""Marks are read by our rule and by the published ones; MR-Score follows the published weights."""

import json
from math import isnan

import pytest

from misstep.loaders import marked_dataset
from misstep.samples import MarkedMetadata
from misstep.scorers import needs_grade
from misstep.scorers._marking import (
    MarkingSample,
    _metrics,
    _our_verdict,
    _published_marking,
    gsm8k_step,
    marked_step,
    published_step,
    read_marking,
    read_marking_gsm8k,
    read_marking_published,
    reason_is_right,
    subject_parts,
)
from misstep.verdicts import NO_ERROR, Unread

REPLY = (
    "Solution Analysis: ...\nSolution Correctness: {}\nFirst Error Step: {}\nError Reason: the sign"
)


@pytest.mark.parametrize(
    ("said", "step", "ours", "published"),
    [
        ("incorrect", "Step 3", 2, "3"),
        ("incorrect", "3", 2, ""),  # a bare number never counts in the published code
        ("incorrect", "Step 3: the sign is wrong", 2, ""),
        ("**Incorrect**", "**Step 3**", 2, "3"),
        ("incorrect", "Step 30", 4, ""),
        ("correct", "N/A", NO_ERROR, ""),
        ("correct", "Step 2", NO_ERROR, "2"),
        ("incorrect", "N/A", Unread.NO_SECTION, ""),
    ],
)
def test_both_readings_of_a_step(said, step, ours, published):
    text = REPLY.format(said, step)
    assert marked_step(read_marking(text), ["a"] * 4, None, code=False) == ours
    assert published_step(read_marking_published(text).step) == published


def test_correctness_must_be_the_bare_word_in_the_published_code():
    text = REPLY.format("the solution is incorrect", "Step 1")
    assert read_marking(text).correct is False
    assert read_marking_published(text).correct is None
    assert read_marking_published("Solution Correctness: correct").correct is None
    assert read_marking("solution correctness:\n\n**Correct**\n").correct is True
    assert marked_step(read_marking("Hm."), ["a"], None, code=False) == Unread.NO_CONCLUSION


def test_printed_numbers_decide_the_step():
    mark = read_marking(REPLY.format("incorrect", "Step 2"))
    assert marked_step(mark, ["a", "b", "c"], [None, 2, 2], code=False) == 1
    assert marked_step(mark, ["a", "b"], [3, 4], code=False) == 2  # no such step: out of range


def test_lines_of_code_are_compared_without_blanks_at_the_ends():
    mark = read_marking(REPLY.format("incorrect", "`return x`"))
    assert marked_step(mark, ["def f(x):", "    return x  "], None, code=True) == 1


def test_mr_gsm8k_takes_a_part_of_the_judgement():
    text = "Final Judgement: {}\nFirst Error Step: {}\nError Analysis: x"
    assert read_marking_gsm8k(text.format("incorrect.", 2)).agrees(True)
    assert read_marking_gsm8k(text.format("incorrect", 2)).agrees(False)
    assert read_marking_gsm8k(text.format("wrong", 2)).agrees(False)
    assert read_marking_gsm8k("Final Judgement: wrong").correct is None
    assert (gsm8k_step("2"), gsm8k_step("Step 2"), gsm8k_step("2.")) == ("2", "2", "")


def test_incorrect_contains_correct_for_the_published_grader():
    assert reason_is_right("Final Decision: Incorrect", published=True) is True
    assert reason_is_right("Final Decision: Incorrect", published=False) is False
    assert reason_is_right("Final Decision: Correct", published=False) is True
    assert reason_is_right("I do not know", published=False) is None


def samples_of(replies, rows, published):
    found = []
    for sample in rows:
        about = sample.metadata_as(MarkedMetadata)
        text = replies[str(sample.id)]
        gold = about.label == NO_ERROR
        if published:
            mark, step = _published_marking(text, about)
            right, verdict = mark.agrees(gold), NO_ERROR
            step = not gold and right and step
        else:
            mark, verdict = _our_verdict(text, about)
            right = mark.agrees(gold)
            step = verdict == about.label != NO_ERROR
        found.append(
            MarkingSample(
                mark=float(right),
                step=float(step),
                reason=0.0,
                first_error=float(verdict == about.label),
                has_error=not gold,
                usable=about.label_problem is None,
                subset=about.subset,
                cluster=about.cluster,
                unread=verdict.value if isinstance(verdict, Unread) else None,
                graded=False,
            )
        )
    return found


@pytest.fixture
def physics(real_data, monkeypatch):
    if not (real_data / "mr_ben" / "physics.json").is_file():
        pytest.skip("the offline mirror has no mr_ben/physics.json")
    monkeypatch.setenv("MISSTEP_DATA", str(real_data))
    return marked_dataset("mr_ben", "physics", order="published")


def test_synthetic_replies_give_the_figures(physics, real_data, figures):
    expected = figures["mr_ben"]["physics"]["synthetic"]
    lines = (real_data / "mr_ben" / "synthetic_replies_physics.jsonl").read_text().splitlines()
    replies = {
        f"physics-{row['Question_UUID'][:8]}-{row['solution']}": row["reply"]
        for row in map(json.loads, lines)
    }
    published = samples_of(replies, physics, published=True)
    tp = sum(one.mark for one in published if not one.has_error)
    tn = sum(one.mark for one in published if one.has_error)
    assert (tp, tn) == (expected["published"]["tp"], expected["published"]["tn"])
    metrics = dict(_metrics(published, published=True))
    assert round(100 * metrics["task2_accuracy"], 2) == expected["published"]["task2"]
    assert 100 * metrics["mcc"] == pytest.approx(expected["published"]["mcc"], abs=0.01)
    without = round(100 * metrics["mr_score_without_reason"], 2)
    assert without == expected["published"]["mr_score_without_reason"]
    assert "mr_score" not in metrics
    ours = samples_of(replies, physics, published=False)
    metrics = dict(_metrics(ours, published=False))
    for name, key in (("error_accuracy",) * 2, ("correct_accuracy",) * 2, ("f1_score", "f1")):
        assert round(100 * metrics[name], 2) == pytest.approx(expected["ours"][key], abs=0.01)
    assert sum(one.unread is not None for one in ours) == expected["ours"]["unread"]
    assert len(metrics) <= 15


def test_rows_and_labels_of_physics_and_coding(physics, figures):
    known = figures["mr_ben"]["physics"]
    labels = [sample.metadata["label"] for sample in physics]
    assert len(physics) == known["rows"]
    assert sum(len(sample.metadata["steps"]) for sample in physics) == known["steps"]
    for index, count in known["first_error_index"].items():
        assert labels.count(int(index)) == count
    for step, accuracy in known["always_step_k_task2"].items():
        reply = REPLY.format("incorrect", f"Step {step}")
        samples = samples_of({str(one.id): reply for one in physics}, physics, published=True)
        assert round(100 * subject_parts(samples)[1], 2) == accuracy
    coding = marked_dataset("mr_ben", "coding")
    without = [one for one in coding if "label_problem" in one.metadata]
    assert len(coding) == 238
    assert len(without) == figures["mr_ben"]["coding"]["label_blank"]


def test_a_constant_mark_has_no_mcc(physics):
    samples = samples_of(
        {str(one.id): REPLY.format("correct", "N/A") for one in physics}, physics, False
    )
    assert isnan(dict(_metrics(samples, published=False))["mcc"])
    assert dict(_metrics(samples, published=True))["mcc"] == 0.0
    assert dict(_metrics([], published=True))["total_count"] == 0


def marked(number: int, cluster: str, right: bool) -> MarkingSample:
    return MarkingSample(
        mark=float(right),
        step=float(right and number % 2),
        reason=0.0,
        first_error=float(right),
        has_error=bool(number % 2),
        usable=True,
        subset="physics",
        cluster=cluster,
        unread=None,
        graded=False,
    )


def width(samples: list[MarkingSample]) -> float:
    found = dict(_metrics(samples, published=False))
    lower, upper = (found[f"mr_score_without_reason_{end}"] for end in ("lower", "upper"))
    assert lower <= found["mr_score_without_reason"] <= upper
    return upper - lower


def test_solutions_of_one_question_are_one_unit_of_the_interval():
    alone = [marked(i, str(i), i % 16 < 12) for i in range(256)]
    questions = [marked(i, str(i // 4), i % 16 < 12) for i in range(256)]
    assert width(questions) > 1.5 * width(alone)
    assert width([marked(i, str(i // 4), True) for i in range(80)]) > 0.1


def test_only_right_steps_are_graded(physics):
    wrong = next(one for one in physics if one.metadata["label"] > 0)
    about = wrong.metadata_as(MarkedMetadata)
    number = about.printed_numbers[about.label]
    assert needs_grade(REPLY.format("incorrect", f"Step {number}"), about).reason == "the sign"
    assert needs_grade(REPLY.format("incorrect", f"Step {number + 1}"), about) is None
    right = next(one for one in physics if one.metadata["label"] == NO_ERROR)
    assert (
        needs_grade(REPLY.format("incorrect", "Step 1"), right.metadata_as(MarkedMetadata)) is None
    )
