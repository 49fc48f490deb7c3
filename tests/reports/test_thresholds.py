"""Sweeping the threshold, against the rule written out for one sample and one threshold."""

import json
from math import isnan
from random import Random

import pytest

from misstep.reports import RewardRow, ThresholdCurve, threshold_charts, threshold_records
from misstep.reports._thresholds import calibration_error


def predicted(rewards, threshold):
    """The published rule: the first step under the threshold, else -1; None where unknown."""
    for step, reward in enumerate(rewards):
        if reward is None:
            return None
        if reward < threshold:
            return step
    return -1


def by_hand(rows, threshold):
    """Error accuracy, correct accuracy and F1, one sample after another."""
    hits = {True: [], False: []}
    for row in rows:
        hits[row.label != -1].append(predicted(row.rewards, threshold) == row.label)
    error, correct = (sum(h) / len(h) for h in (hits[True], hits[False]))
    return error, correct, 2 * error * correct / (error + correct) if error + correct else 0.0


def random_rows(seed, count=150):
    random = Random(seed)
    rows = []
    for i in range(count):
        steps = random.randint(1, 7)
        # Coarse values, so that rewards and thresholds are often equal.
        coarse = [None, *(k / 20 for k in range(21))]
        rewards = [random.choice(coarse) for _ in range(steps)]
        rewards = [0.7 if r is None and random.random() < 0.8 else r for r in rewards]
        rows.append(RewardRow(str(i), "s", random.randint(-1, steps - 1), rewards))
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_every_threshold_gives_what_the_rule_gives(seed):
    rows = random_rows(seed)
    curve = ThresholdCurve(rows)
    errors, corrects = curve.accuracies
    assert list(curve.thresholds) == [i / 100 for i in range(101)]
    for i, threshold in enumerate(curve.thresholds):
        got = errors[i], corrects[i], curve.f1_scores[i]
        assert got == pytest.approx(by_hand(rows, threshold)), threshold
    metrics = curve.at(0.35)
    assert (
        metrics.error_accuracy.value,
        metrics.correct_accuracy.value,
        metrics.f1_score.value,
    ) == pytest.approx(by_hand(rows, 0.35))
    assert metrics.f1_score.lower <= metrics.f1_score.value <= metrics.f1_score.upper


def test_the_best_threshold_is_the_one_nearest_to_the_default():
    rows = [RewardRow("a", "s", 0, [0.2]), RewardRow("b", "s", -1, [0.4])]
    assert ThresholdCurve(rows).best() == 0.4  # 0.21 to 0.4 all have F1 1
    rows = [RewardRow("a", "s", 0, [0.2]), RewardRow("b", "s", -1, [0.9])]
    assert ThresholdCurve(rows).best() == 0.5


def test_an_empty_set_has_no_accuracy():
    curve = ThresholdCurve([RewardRow("a", "s", -1, [0.4])])
    assert all(map(isnan, curve.accuracies[0]))
    assert all(map(isnan, curve.f1_scores))
    assert isnan(curve.at(0.5).f1_score.value)


def test_precision_recall_and_calibration_count_steps_of_known_truth():
    # Right: 0.9, 0.3 and 0.8; wrong: 0.4. What comes after the first wrong step is not known.
    rows = [RewardRow("a", "s", 2, [0.9, 0.3, 0.4, 0.1]), RewardRow("b", "s", -1, [0.8])]
    precision, recall = ThresholdCurve(rows).precision_and_recall()
    assert (precision[35], recall[35]) == (0.0, 0.0)
    assert (precision[50], recall[50]) == (0.5, 1.0)
    assert isnan(precision[0])
    bins = ThresholdCurve(rows).calibration()
    assert [one.steps for one in bins] == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1]
    expected = (abs(0.3 - 1) + abs(0.4 - 0) + abs(0.8 - 1) + abs(0.9 - 1)) / 4
    assert calibration_error(bins) == pytest.approx(expected)
    assert isnan(calibration_error(ThresholdCurve([]).calibration()))


def test_the_curves_are_drawn_from_the_data():
    curves = {"gsm8k": ThresholdCurve(random_rows(1)), "math": ThresholdCurve(random_rows(2))}
    chart = threshold_charts(curves, 0.5, "m").to_dict()
    assert len(threshold_records(curves)) == 202
    assert "NaN" not in json.dumps(chart, allow_nan=False)


def test_thresholds_tuned_on_gsm8k_and_applied_to_math(real_data):
    """Recorded step scores of four verifiers; computed here without any of the project's code."""
    recorded = {}
    path = real_data / "recorded" / "processbench_step_scores.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        scores = row["step_scores_up_to_first_error"]
        padded = [*scores, *[None] * (row["n_steps"] - len(scores))]
        recorded.setdefault((row["model"], row["config"]), []).append(
            RewardRow(row["id"], row["config"], row["label"], padded)
        )
    for model in {model for model, _ in recorded}:
        grid = [i / 100 for i in range(101)]
        f1 = {t: by_hand(recorded[model, "gsm8k"], t)[2] for t in grid}
        best = min(grid, key=lambda t: (-f1[t], abs(t - 0.5), t))
        gsm8k, math = (ThresholdCurve(recorded[model, subset]) for subset in ("gsm8k", "math"))
        assert gsm8k.best() == best
        metrics = math.at(best)
        expected = by_hand(recorded[model, "math"], best)
        got = (metrics.error_accuracy.value, metrics.correct_accuracy.value, metrics.f1_score.value)
        assert got == pytest.approx(expected)
        assert 0 < metrics.f1_score.lower < expected[2] < metrics.f1_score.upper < 1
