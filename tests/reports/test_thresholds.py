"""Sweeping the threshold, against the rule written out for one sample and one threshold."""

import json
from math import inf, isnan
from random import Random

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    precision_recall_curve,
    roc_auc_score,
)

from misstep.registry import MisstepError
from misstep.reports import (
    CROSS_VALIDATION,
    RewardRow,
    StepScores,
    ThresholdCurve,
    threshold_charts,
    threshold_records,
    tune_threshold,
)
from misstep.reports._step_rewards import calibration_error


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
def test_every_observed_reward_as_threshold_gives_what_the_rule_gives(seed):
    rows = random_rows(seed)
    curve = ThresholdCurve(rows)
    errors, corrects = curve.accuracies
    assert curve.thresholds[-1] == inf
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


@pytest.mark.parametrize("seed", range(3))
def test_no_threshold_at_all_is_better_than_the_best(seed):
    rows = random_rows(seed)
    best = by_hand(rows, ThresholdCurve(rows).best())[2]
    assert best == pytest.approx(max(by_hand(rows, t / 1000)[2] for t in range(1001)))


def test_scores_close_to_1_are_told_apart():
    """A grid of hundredths sees no difference between these scores."""
    wrong = [RewardRow(f"w{i}", "s", 0, [0.9990 + i / 10**6]) for i in range(9)]
    right = [RewardRow(f"r{i}", "s", -1, [0.9995 + i / 10**6]) for i in range(9)]
    curve = ThresholdCurve([*wrong, *right])
    assert 0.999008 < curve.best() < 0.9995
    assert curve.at(curve.best()).f1_score.value == 1
    assert max(curve.at(t / 100).f1_score.value for t in range(101)) == 0


def test_the_best_threshold_is_the_default_or_the_middle_of_the_best_range():
    rows = [RewardRow("a", "s", 0, [0.2]), RewardRow("b", "s", -1, [0.4])]
    assert ThresholdCurve(rows).best() == pytest.approx(0.3)
    rows = [RewardRow("a", "s", 0, [0.2]), RewardRow("b", "s", -1, [0.9])]
    assert ThresholdCurve(rows).best() == 0.5


def test_an_empty_set_has_no_accuracy():
    curve = ThresholdCurve([RewardRow("a", "s", -1, [0.4])])
    assert all(map(isnan, curve.accuracies[0]))
    assert all(map(isnan, curve.f1_scores))
    assert isnan(curve.at(0.5).f1_score.value)
    with pytest.raises(MisstepError, match="Here are 0 with and 1 without"):
        curve.best()


def test_only_steps_of_known_truth_are_counted():
    # Right: 0.9, 0.3 and 0.8; wrong: 0.4. What comes after the first wrong step is not known.
    rows = [RewardRow("a", "s", 2, [0.9, 0.3, 0.4, 0.1]), RewardRow("b", "s", -1, [0.8, None])]
    steps = StepScores(rows)
    assert (len(steps), int(steps.wrong.sum()), steps.missing) == (4, 1, 1)
    precision, recall = steps.precision_and_recall(np.array([0.0, 0.35, 0.5]))
    assert isnan(precision[0])
    assert (list(precision[1:]), list(recall)) == ([0.0, 0.5], [0.0, 0.0, 1.0])
    expected = (abs(0.3 - 1) + abs(0.4 - 0) + abs(0.8 - 1) + abs(0.9 - 1)) / 4
    assert calibration_error(steps.calibration()) == pytest.approx(expected)
    assert isnan(calibration_error(StepScores([]).calibration()))


def test_calibration_has_bins_of_equal_counts():
    rows = [RewardRow(str(i), "s", -1, [1 - (i / 1000) ** 4]) for i in range(1000)]
    bins = StepScores(rows).calibration()
    assert [one.steps for one in bins] == [100] * 10
    random = Random(0)
    rows = [RewardRow(str(i), "s", random.choice([-1, 0]), [random.random()]) for i in range(1000)]
    right, rewards = [row.label == -1 for row in rows], [row.rewards[0] for row in rows]
    shares, means = calibration_curve(right, rewards, n_bins=10, strategy="quantile")
    bins = StepScores(rows).calibration()
    assert [one.right for one in bins] == pytest.approx(shares.tolist(), abs=1e-9)
    assert [one.mean_reward for one in bins] == pytest.approx(means.tolist(), abs=1e-9)
    same = [RewardRow(str(i), "s", -1, [1.0 if i < 700 else i / 1000]) for i in range(1000)]
    # Equal rewards stay together, and apart from others.
    assert [one.steps for one in StepScores(same).calibration()] == [100, 100, 100, 700]


def test_perfect_separation_has_no_interval_of_zero_width():
    rows = [RewardRow("a", "s", 1, [0.9, 0.1]), RewardRow("b", "s", -1, [0.8])]
    estimate = StepScores(rows).auroc
    assert estimate.value == 1
    assert isnan(estimate.lower)


def test_the_interval_of_auroc_contains_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    # For normal scores one standard deviation apart, AUROC is the normal share below 1 / sqrt(2).
    truth, hits = 0.7602, 0
    for _ in range(40):
        rows = [RewardRow(f"w{i}", "s", 0, [random.normal()]) for i in range(40)]
        rows += [RewardRow(f"r{i}", "s", -1, [random.normal(1)]) for i in range(60)]
        estimate = StepScores(rows).auroc
        hits += estimate.lower <= truth <= estimate.upper
    assert hits >= 34


def test_clusters_make_intervals_wider():
    """Each problem has five solutions, all judged alike."""
    single = [
        RewardRow(f"{i}-{k}", "s", -1 if i % 2 else 0, [(0.9 if i % 2 else 0.2) + i % 7 / 50])
        for i in range(40)
        for k in range(5)
    ]
    hard = [row for row in single if int(row.id.split("-")[0]) % 3 == 0]
    rows = [
        RewardRow(r.id, r.subset, r.label, [0.5] if r in hard else r.rewards, r.id.split("-")[0])
        for r in single
    ]
    independent = [RewardRow(r.id, r.subset, r.label, r.rewards) for r in rows]
    clustered, free = StepScores(rows).auroc, StepScores(independent).auroc
    assert clustered.value == free.value
    assert clustered.upper - clustered.lower > 1.5 * (free.upper - free.lower)
    metrics = ThresholdCurve(rows).at(0.45)
    width = metrics.f1_score.upper - metrics.f1_score.lower
    naive = metrics.independent_f1_score.upper - metrics.independent_f1_score.lower
    assert width > 1.5 * naive
    [note] = tune_threshold("m", rows, "s").notes()
    assert "samples of one cluster are not independent" in note


def test_cross_validation_tunes_on_other_clusters():
    """A threshold that fits noise is better on its own data than by cross-validation."""
    random = Random(3)
    rows = [
        RewardRow(str(i), "s", i % 2 - 1, [round(random.random(), 6)], cluster=str(i // 2))
        for i in range(120)
    ]
    tuned = tune_threshold("m", rows, CROSS_VALIDATION).subsets["s"]
    own = tuned.curve.at(tuned.threshold).f1_score.value
    assert tuned.tuned.f1_score.value < own
    # The same by hand: clusters in a fixed random order, dealt into ten folds.
    units = sorted({row.unit for row in rows})
    Random(42).shuffle(units)
    hits = {}
    for fold in range(10):
        held = set(units[fold::10])
        best = ThresholdCurve(row for row in rows if row.unit not in held).best()
        assert best in tuned.fold_thresholds
        hits |= {r.id: predicted(r.rewards, best) == r.label for r in rows if r.unit in held}
    error, correct = (
        np.mean([hits[row.id] for row in rows if (row.label != -1) == which])
        for which in (True, False)
    )
    expected = 2 * error * correct / (error + correct)
    assert tuned.tuned.f1_score.value == pytest.approx(expected)


def test_the_curves_are_drawn_from_the_data():
    curves = {"gsm8k": ThresholdCurve(random_rows(1)), "math": ThresholdCurve(random_rows(2))}
    chart = threshold_charts(curves, [0.5], "m").to_dict()
    records = threshold_records(curves)
    assert len(records) == sum(len(curve.thresholds) for curve in curves.values())
    assert "NaN" not in json.dumps(chart, allow_nan=False)


@pytest.fixture(scope="module")
def recorded(real_data):
    """Recorded step scores of four verifiers, by verifier and subset."""
    rows = {}
    path = real_data / "recorded" / "processbench_step_scores.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        scores = row["step_scores_up_to_first_error"]
        padded = [*scores, *[None] * (row["n_steps"] - len(scores))]
        rows.setdefault((row["model"], row["config"]), []).append(
            RewardRow(row["id"], row["config"], row["label"], padded)
        )
    return rows


def test_step_metrics_are_scikit_learns_on_recorded_scores(recorded):
    assert len(recorded) == 8
    for rows in recorded.values():
        wrong, suspicion = [], []
        for row in rows:
            for step, reward in enumerate(row.rewards):
                if reward is not None:
                    wrong.append(int(step == row.label))
                    suspicion.append(-reward)
        steps = StepScores(rows)
        assert len(steps) == len(wrong)
        assert steps.auroc.value == pytest.approx(roc_auc_score(wrong, suspicion), abs=1e-9)
        average = average_precision_score(wrong, suspicion)
        assert steps.average_precision.value == pytest.approx(average, abs=1e-9)
        assert steps.auroc.lower < steps.auroc.value < steps.auroc.upper
        # scikit-learn calls steps wrong up to a reward, we below the next reward.
        precision, recall, thresholds = precision_recall_curve(wrong, suspicion)
        assert list(-thresholds[::-1]) == list(steps.observed)
        ours = steps.precision_and_recall(np.append(steps.observed[1:], inf))
        assert ours[0] == pytest.approx(precision[:-1][::-1], abs=1e-9)
        assert ours[1] == pytest.approx(recall[:-1][::-1], abs=1e-9)
        right, rewards = [1 - one for one in wrong], [-one for one in suspicion]
        assert steps.brier() == pytest.approx(brier_score_loss(right, rewards), abs=1e-9)


def test_thresholds_tuned_on_gsm8k_and_applied_to_math(recorded):
    """Computed here without any of the project's code, at every observed score."""
    for model in {model for model, _ in recorded}:
        gsm8k, math = (recorded[model, subset] for subset in ("gsm8k", "math"))
        observed = {reward for row in gsm8k for reward in row.rewards if reward is not None}
        highest = max(by_hand(gsm8k, threshold)[2] for threshold in observed)
        tuned = tune_threshold(model, [*gsm8k, *math], "gsm8k")
        [best] = tuned.thresholds
        assert by_hand(gsm8k, best)[2] == pytest.approx(highest)
        metrics = tuned.subsets["math"].tuned
        expected = by_hand(math, best)
        got = (metrics.error_accuracy.value, metrics.correct_accuracy.value, metrics.f1_score.value)
        assert got == pytest.approx(expected)
        assert 0 < metrics.f1_score.lower < expected[2] < metrics.f1_score.upper < 1
