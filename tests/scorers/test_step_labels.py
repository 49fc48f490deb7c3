"""Labels of all steps: how replies are read, and what they are worth by both rules."""

import json
from math import isnan

import pytest

from misstep.scorers import (
    first_wrong_label,
    read_reason,
    read_step_labels,
    read_step_labels_published,
    step_counts,
)
from misstep.scorers._step_labels import labels_from, score_labels
from misstep.verdicts import Unread


def fenced(content: str, mark: str = "json") -> str:
    return f"I think.\n```{mark}\n{content}\n```"


@pytest.mark.parametrize(
    ("reply", "ours", "published"),
    [
        (fenced('{"step_labels": {"0": 1, "1": -1}}'), [1, -1], [1, -1]),
        # The published reader fails on the rubric's own spelling.
        (fenced('{"step_labels": {"0": +1, "1": -1}}'), [1, -1], [None, None]),
        # A label that is left out is no 0.
        ('{"step_labels": {"0": "1"}}', [1, None], [1, 0]),
        ('so {"step_labels": {"0": 2, "1": true}} it is', [None, None], [0, 0]),
        (
            fenced('{"step_labels": {"0": 1, "1": 1}}') + fenced('{"step_labels": {"1": 0}}'),
            [None, 0],
            [0, 0],
        ),
        ("no json at all", Unread.NOT_STRUCTURED, [None, None]),
        ("", Unread.EMPTY, [None, None]),
        ("[1, -1]", Unread.NOT_STRUCTURED, [None, None]),
        ('{"step_labels": [1, -1]}', Unread.NOT_STRUCTURED, [0, 0]),
        (
            fenced('{"step_labels": {"0": -1, "1": -1}, "reason": "a } brace"}', ""),
            [-1, -1],
            [None, None],
        ),
    ],
)
def test_replies_are_read_by_our_and_by_the_published_rule(reply, ours, published):
    assert read_step_labels(reply, ["0", "1"]) == ours
    assert read_step_labels_published(reply, ["0", "1"]) == published


def test_the_published_reader_agrees_with_the_original_on_recorded_replies(real_data):
    path = real_data / "agentprocessbench" / "prompts" / "reply_reading_cases.json"
    if not path.is_file():
        pytest.skip("the offline mirror has no agentprocessbench/prompts")
    for case in json.loads(path.read_text(encoding="utf-8")):
        expected = list(case.get("step_labels", {"2": None, "4": None}).values())
        assert read_step_labels_published(case["reply"], ["2", "4"]) == expected


def test_the_reason_is_the_one_beside_the_labels():
    reply = fenced('{"step_labels": {"0": -1}, "reason": "It made this up."}')
    assert read_reason(reply) == "It made this up."
    assert read_reason("no json") is None


def test_a_step_without_a_label_hides_what_follows_but_not_what_came_before():
    assert first_wrong_label([1, None, -1]) is Unread.NOT_LABELLED
    assert first_wrong_label([1, -1, None]) == 1
    assert first_wrong_label([1, 0]) == -1
    assert first_wrong_label([None]) is Unread.NOT_LABELLED


def test_a_failed_judgement_is_no_error_by_the_published_rule_and_wrong_by_ours():
    failed, right = [None, None], [1, 1]
    assert score_labels(failed, right, "published").value == {"steps": 0, "first_error": 1}
    assert score_labels(failed, right, "ours").value == {"steps": 0, "first_error": 0}
    assert score_labels(failed, right, "ours").reason == "invalid_response_format"


def test_labels_follow_from_the_first_wrong_step():
    assert labels_from(1, 3) == [1, -1, -1]
    assert labels_from(-1, 2) == [1, 1]
    assert labels_from(3, 3) == [None] * 3
    assert labels_from(Unread.NO_BOX, 1) == [None]


def counts(*pairs, rewards=None):
    return step_counts(
        (
            (score_labels(judged, gold, "ours", rewards=rewards).metadata or {}, gold)
            for gold, judged in pairs
        )
    )


def test_step_accuracy_is_over_steps_and_first_error_accuracy_over_trajectories():
    found = counts(([1, 1, -1], [1, 0, -1]), ([1], [-1]), ([0], [None]))
    assert found.step_accuracy == 2 / 5
    assert found.first_error_accuracy == 1 / 3
    assert found.unread_steps == 1 / 5
    assert found.exact_accuracy == 0


def test_macro_f1_is_the_mean_over_three_labels_with_unread_steps_as_misses():
    found = counts(([1, 1, -1, 0], [1, None, -1, -1]))
    assert found.label_f1(1) == 2 / 3
    assert found.label_f1(-1) == 2 / 3
    assert found.label_f1(0) == 0
    assert found.step_macro_f1 == pytest.approx(4 / 9)


def test_auroc_is_the_share_of_pairs_in_the_right_order_and_ties_are_half():
    found = counts(([1, -1, 0], [1, -1, 0]), rewards=[0.9, 0.5, 0.5])
    assert found.step_auroc == 0.75
    assert isnan(counts(([1], [1]), rewards=[0.9]).step_auroc)


def test_metrics_of_nothing_are_undefined():
    found = counts()
    assert isnan(found.step_accuracy)
    assert isnan(found.step_macro_f1)
