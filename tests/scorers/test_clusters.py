"""Every scorer takes clusters as the units of its intervals: their samples are not independent."""

import pytest
from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score

from misstep.scorers import (
    answer_table,
    detection_table,
    recovery_table,
    score_labels,
    section_table,
    step_label_table,
)
from misstep.scorers._attribution import attribution_metrics
from misstep.scorers._error_location import location_metrics
from misstep.scorers._published_judging import _judging
from misstep.scorers._sections import count_sections

INJECTED = {"has_error": True, "error_type": "circular", "position_third": "late"}
MISTAKE = {"task": "word_sorting", "mistake_index": 1, "n_steps": 5}
BLAMED = {"label": 0, "agents": ["a", "b"], "steps": ["x", "y"], "mistake_agent": "a"}


def correct(hit):
    return CORRECT if hit else INCORRECT


def outcome(hit):
    name = "correct_detections" if hit else "missed_errors"
    return Score(value=correct(hit), metadata={"outcome": name})


def blame(hit):
    return Score(value=dict.fromkeys(("agent", "step", "both"), hit), metadata={"off_by": 0})


def answers(hit):
    return Score(value=dict.fromkeys(("NR", "CR", "IR"), hit))


def sections(hit):
    return Score(value=dict(count_sections({1} if hit else {2}, {1}).value))


def labels(hit):
    return score_labels([-1 if hit else 1], [-1], "ours")


CASES = {
    "final answers": (
        lambda scores: answer_table(scores, scores),
        lambda hit: Score(value=correct(hit)),
        {},
        "accuracy",
    ),
    "injected errors": (
        lambda scores: detection_table(scores, scores),
        outcome,
        INJECTED,
        "circular_first_error_accuracy",
    ),
    "mistakes": (
        location_metrics(),
        lambda hit: Score(value=correct(hit)),
        {"subset": "a"},
        "mean_task_accuracy",
    ),
    "blame": (attribution_metrics(), blame, BLAMED, "agent_accuracy"),
    "sections": (lambda scores: section_table(scores, scores), sections, {}, "recall_macro"),
    "recovery": (
        lambda scores: recovery_table(scores, scores),
        answers,
        MISTAKE,
        "CR_correct_rate",
    ),
    "judging": (
        lambda scores: dict(_judging(scores)),
        lambda hit: Score(value=correct(hit), answer="Step 1"),
        {"subset": "a"},
        "process_judging",
    ),
    "labels": (step_label_table, labels, {"step_labels": [-1]}, "first_error_accuracy"),
}


@pytest.mark.parametrize("case", CASES)
def test_clusters_that_are_right_or_wrong_together_widen_the_interval(case):
    table, score, about, metric = CASES[case]

    def width(clusters):
        scores = [
            SampleScore(
                score=score(i < 40), sample_id=i, sample_metadata={**about, "cluster": cluster}
            )
            for i, cluster in enumerate(clusters)
        ]
        found = table(scores)
        assert found[metric] == pytest.approx(0.5)
        return found[f"{metric}_upper"] - found[f"{metric}_lower"]

    alone = width([None] * 80)
    assert width([f"problem {i}" for i in range(80)]) == pytest.approx(alone)
    assert width([f"problem {i // 10}" for i in range(80)]) > 2 * alone
