"""Rewards beside what is right, rates of error recovery, and accuracy beside its budget."""

from collections.abc import Sequence
from dataclasses import asdict
from math import nan
from typing import TYPE_CHECKING

from misstep.reports._breakdowns import pairs_of
from misstep.reports._frames import Row, frame, labels_of
from misstep.reports._recovery import By, recovery_rates
from misstep.reports._runs import Run
from misstep.reports._threshold_curve import RewardRow, ThresholdCurve, calibration_error
from misstep.scorers import share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import pandas


def curve_of(run: Run, reading: str = "strict") -> ThresholdCurve:
    """A run's rewards, at all thresholds."""
    return ThresholdCurve(
        RewardRow(
            sample.id,
            sample.facets.get("subset", ""),
            NO_ERROR if sample.label is None else sample.label,
            score.rewards,
        )
        for sample, score in pairs_of(run, reading)
    )


def calibration(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """How often steps are right whose reward is about so much; runs without rewards have no rows.

    Steps after the first error are not labelled, and left out. `calibration_error` is the mean
    distance of a step's bin from its rewards (ECE), `brier` the mean squared distance of rewards
    from what is right.
    """
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        curve = curve_of(run, reading)
        right, wrong = curve.steps
        if not len(right) + len(wrong):
            continue
        bins = curve.calibration()
        squares = float(((1 - right) ** 2).sum() + (wrong**2).sum())
        for one in bins:
            if one.steps:
                hits = round(one.right * one.steps)
                estimate = share([1.0] * hits + [0.0] * (one.steps - hits))
                rows.append(
                    {
                        "run": labels[run.id],
                        "bin": one.lower,
                        "steps": one.steps,
                        "reward": one.mean_reward,
                        "right": one.right,
                        "right_lower": estimate.lower,
                        "right_upper": estimate.upper,
                        "calibration_error": calibration_error(bins),
                        "brier": squares / (len(right) + len(wrong)),
                    }
                )
    return frame(rows)


def recovery_frame(
    runs: Sequence[Run], by: By = "task", reading: str = "strict"
) -> "pandas.DataFrame":
    """Of error recovery: how often each variation is right, by task, position or steps."""
    labels = labels_of(runs)
    return frame(
        {**asdict(rate), "run": labels[run.id]}
        for run in runs
        for rate in recovery_rates([run.location], by, reading == "lenient")
    )


def budget(runs: Sequence[Run], reading: str = "strict") -> "pandas.DataFrame":
    """Accuracy beside what a sample took: tokens, seconds, and calls where they are known."""
    labels = labels_of(runs)
    rows: list[Row] = []
    for run in runs:
        scores = [score for _, score in pairs_of(run, reading)]
        hits = share([score.hit for score in scores])
        calls = [score.budget["calls"] for score in scores if "calls" in score.budget]
        n = len(run.scored)
        rows.append(
            {
                "run": labels[run.id],
                "accuracy": hits.value,
                "accuracy_lower": hits.lower,
                "accuracy_upper": hits.upper,
                "tokens_a_sample": sum(s.input_tokens + s.output_tokens for s in run.scored) / n,
                "calls_a_sample": sum(calls) / len(calls) if calls else nan,
                "seconds_a_sample": sum(s.seconds or 0.0 for s in run.scored) / n,
            }
        )
    return frame(rows)
