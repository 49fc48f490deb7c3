"""Errors found, missed, and seen where there is none."""

import json
from collections import Counter
from math import isnan

import pytest
from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score

from misstep.scorers import Detection, detection
from misstep.scorers._error_location import detection_metrics, detection_table


@pytest.mark.parametrize(
    ("verdict", "label", "outcome"),
    [
        (5, 5, Detection.CORRECT),
        (4, 5, Detection.FALSE_POSITIVE),
        (0, 5, Detection.FALSE_POSITIVE),
        (6, 5, Detection.MISSED),
        (-1, 5, Detection.MISSED),
        (99, 5, Detection.MISSED),
        (-1, -1, Detection.PASSED),
        (0, -1, Detection.FALSE_POSITIVE),
        (None, 5, Detection.UNREAD),
        (None, -1, Detection.UNREAD),
    ],
)
def test_every_verdict_is_worth_exactly_one_thing(verdict, label, outcome):
    assert detection(verdict, label) is outcome


def scored(outcome, kind=None, third=None):
    hit = outcome in ("correct_detections", "passed_untouched")
    return SampleScore(
        score=Score(value=CORRECT if hit else INCORRECT, metadata={"outcome": outcome}),
        sample_metadata={
            "has_error": kind is not None,
            "error_type": kind,
            "position_third": third,
        },
    )


def test_figures_by_type_and_position():
    scores = [
        scored("correct_detections", "circular_reasoning", "late"),
        scored("missed_errors", "circular_reasoning", "late"),
        scored("false_positives", "false_equivalence", "middle"),
        scored("unread", "false_equivalence", "late"),
        scored("passed_untouched"),
        scored("false_positives"),
    ]
    figures = detection_table(scores, scores)
    counts = {name: figures[name] for name in ("total", "errors", *Detection)}
    assert counts == {
        "total": 6,
        "errors": 4,
        "correct_detections": 1,
        "false_positives": 2,
        "missed_errors": 1,
        "passed_untouched": 1,
        "unread": 1,
    }
    assert figures["first_error_accuracy"] == 0.25
    assert figures["circular_reasoning_first_error_accuracy"] == 0.5
    assert figures["false_equivalence_first_error_accuracy"] == 0
    assert (figures["late_first_error_accuracy"], figures["late_total"]) == (1 / 3, 3)
    assert figures["middle_total"] == 1
    assert "early_total" not in figures
    # Wilson's interval for one of two, worked out by hand: (1/2 + z²/4 ± z √(1/8 + z²/16)) / …
    assert figures["circular_reasoning_first_error_accuracy_lower"] == pytest.approx(
        0.0945, abs=1e-4
    )


def test_nothing_has_no_figures_and_nothing_raises():
    figures = detection_table([], [])
    assert figures["total"] == 0
    assert isnan(figures["first_error_accuracy"])
    assert isnan(detection_metrics()([])["first_error_accuracy"])


def test_recorded_critiques_are_sorted_completely(real_data):
    """177 critiques that gpt-4o-mini once wrote, by what they flag first; the rule said again."""
    file = real_data / "numinamath" / "recorded_critiques.jsonl"
    if not file.is_file():
        pytest.skip("the mirror has no recorded critiques")
    rows = [json.loads(line) for line in file.open(encoding="utf-8")]
    outcomes = Counter()
    for row in rows:
        flagged, gold = row["error_steps"], row["gold_error_step_1based"]
        first = min(flagged) - 1 if flagged else -1
        outcomes[detection(first, gold - 1)] += 1
    assert outcomes.total() == 177
    assert outcomes[Detection.CORRECT] == sum(
        bool(row["error_steps"]) and min(row["error_steps"]) == row["gold_error_step_1based"]
        for row in rows
    )
    assert outcomes[Detection.FALSE_POSITIVE] == sum(
        any(step < row["gold_error_step_1based"] for step in row["error_steps"]) for row in rows
    )
