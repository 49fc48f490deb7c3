"""First errors from step rewards at every threshold, without calling a model again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.registry import MisstepError, UnknownNameError
from misstep.reports._charts import chart_library
from misstep.reports._paired import Array
from misstep.reports._runs import read_log
from misstep.reports._text import UNDEFINED, TextTable, one_line, to_json, with_interval
from misstep.rewards import THRESHOLD
from misstep.scorers import Estimate, f1_estimate, share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

THRESHOLDS = 101
"""0, 0.01 and so on to 1."""
BINS = 10
SCORER = "first_error"
NO_SUBSET = "all"
"""The subset of samples that name none."""
METRICS = ("f1_score", "error_accuracy", "correct_accuracy")

_NEVER = (inf, inf)


@dataclass(frozen=True)
class RewardRow:
    """One sample: its label and the reward of each step, None if a reward is missing."""

    id: str
    subset: str
    label: int
    rewards: Sequence[float | None]


@dataclass(frozen=True)
class ThresholdMetrics:
    """The first-error metrics at one threshold."""

    threshold: float
    f1_score: Estimate
    error_accuracy: Estimate
    correct_accuracy: Estimate
    error_count: int
    correct_count: int

    def record(self) -> dict[str, Any]:
        """The metrics as JSON types; undefined metrics are None."""
        record: dict[str, Any] = {"threshold": self.threshold}
        for name in METRICS:
            estimate: Estimate = getattr(self, name)
            known = not isnan(estimate.value)
            record[name] = estimate.value if known else None
            record[f"{name}_interval"] = [estimate.lower, estimate.upper] if known else None
        return record | {"errors": self.error_count, "corrects": self.correct_count}


@dataclass(frozen=True)
class RewardBin:
    """Steps with about the same reward."""

    lower: float
    upper: float
    steps: int
    mean_reward: float
    right: float
    """The share of right steps."""


class ThresholdCurve:
    """The metrics of some samples at all thresholds.

    A sample is right at the thresholds between two of its rewards: the first wrong step must be
    below the threshold and no earlier step may be; without an error, no step may be below it. So
    each sample has one range of thresholds. The range is empty if a reward before the verdict is
    missing.
    """

    def __init__(self, rows: Iterable[RewardRow]) -> None:
        self.rows = list(rows)
        self.thresholds: Array = np.linspace(0, 1, THRESHOLDS).round(2)
        self._has_error = np.array([row.label != NO_ERROR for row in self.rows], dtype=bool)
        self._ranges = np.array([_hit_range(row) for row in self.rows]).reshape(-1, 2)

    @cached_property
    def f1_scores(self) -> Array:
        """F1 at each threshold, nan if there are no samples with or no samples without an error."""
        errors, corrects = self.accuracies
        total = errors + corrects
        f1: Array = np.where(np.isnan(total), nan, 0.0)
        return np.divide(2 * errors * corrects, total, out=f1, where=total > 0)

    @cached_property
    def accuracies(self) -> tuple[Array, Array]:
        """Error accuracy and correct accuracy at each threshold."""
        lower, upper = self._ranges[:, :1], self._ranges[:, 1:]
        hits = (lower < self.thresholds) & (self.thresholds <= upper)
        unknown: Array = np.full(THRESHOLDS, nan)
        errors, corrects = (
            hits[chosen].mean(axis=0) if chosen.any() else unknown
            for chosen in (self._has_error, ~self._has_error)
        )
        return errors, corrects

    def best(self) -> float:
        """The threshold with the highest F1; on ties the nearest to 0.5, then the lower one."""
        top = np.flatnonzero(self.f1_scores == np.nanmax(self.f1_scores))
        best = min(top, key=lambda i: (abs(self.thresholds[i] - 0.5), self.thresholds[i]))
        return float(self.thresholds[best])

    def at(self, threshold: float) -> ThresholdMetrics:
        """The metrics at a threshold, with intervals."""
        hits = [float(lower < threshold <= upper) for lower, upper in self._ranges]
        errors = [hit for hit, wrong in zip(hits, self._has_error, strict=True) if wrong]
        corrects = [hit for hit, wrong in zip(hits, self._has_error, strict=True) if not wrong]
        error, correct = share(errors), share(corrects)
        f1 = f1_estimate(errors, corrects)
        return ThresholdMetrics(threshold, f1, error, correct, len(errors), len(corrects))

    @cached_property
    def steps(self) -> tuple[Array, Array]:
        """The rewards of right steps and of first wrong steps.

        Steps after the first wrong one have no label and are left out.
        """
        right: list[float] = []
        wrong: list[float] = []
        for row in self.rows:
            end = len(row.rewards) if row.label == NO_ERROR else row.label
            right += [reward for reward in row.rewards[:end] if reward is not None]
            if row.label != NO_ERROR:
                first = row.rewards[row.label : row.label + 1]
                wrong += [reward for reward in first if reward is not None]
        return np.sort(np.array(right, dtype=float)), np.sort(np.array(wrong, dtype=float))

    def precision_and_recall(self) -> tuple[Array, Array]:
        """Precision and recall of wrong steps at each threshold, nan if undefined."""
        right, wrong = self.steps
        false_alarms = np.searchsorted(right, self.thresholds, side="left")
        found = np.searchsorted(wrong, self.thresholds, side="left")
        called = (found + false_alarms).astype(float)
        precision: Array = np.full(THRESHOLDS, nan)
        np.divide(found, called, out=precision, where=called > 0)
        recall = found / len(wrong) if len(wrong) else np.full(THRESHOLDS, nan)
        return precision, recall

    def calibration(self) -> list[RewardBin]:
        """Steps in bins of equal width by reward, with the share of right steps in each."""
        right, wrong = self.steps
        rewards = np.concatenate([right, wrong])
        is_right = np.concatenate([np.ones(len(right)), np.zeros(len(wrong))])
        places = np.minimum((rewards * BINS).astype(int), BINS - 1)
        bins = []
        for place in range(BINS):
            chosen = places == place
            means = (float(x[chosen].mean()) if chosen.any() else nan for x in (rewards, is_right))
            bins.append(RewardBin(place / BINS, (place + 1) / BINS, int(chosen.sum()), *means))
        return bins


def _hit_range(row: RewardRow) -> tuple[float, float]:
    """The thresholds at which a sample is right: above the first number, up to the second."""
    known = row.rewards if row.label == NO_ERROR else row.rewards[: row.label + 1]
    if not known or row.label >= len(row.rewards):
        return _NEVER
    rewards = [reward for reward in known if reward is not None]
    if len(rewards) < len(known):
        return _NEVER
    if row.label == NO_ERROR:
        return -inf, min(rewards)
    return rewards[-1], min(rewards[:-1], default=inf)


def calibration_error(bins: Sequence[RewardBin]) -> float:
    """The expected calibration error: the mean gap of reward and share of right steps."""
    total = sum(one.steps for one in bins)
    if total == 0:
        return nan
    return sum(one.steps * abs(one.mean_reward - one.right) for one in bins if one.steps) / total


def reward_rows(locations: Iterable[str]) -> dict[str, list[RewardRow]]:
    """Read the rewards of first-error logs, by model. Several logs of one model are joined."""
    by_model: dict[str, dict[tuple[str, str], RewardRow]] = {}
    for location in locations:
        log = read_log(location)
        rows = [
            RewardRow(
                id=str(sample.id),
                subset=str(sample.metadata.get("subset") or NO_SUBSET),
                label=int(sample.metadata["label"]),
                rewards=(sample.scores[SCORER].metadata or {}).get("rewards") or [],
            )
            for sample in log.samples or []
            if sample.scores and SCORER in sample.scores
        ]
        if not any(row.rewards for row in rows):
            raise MisstepError(
                f"{location}: holds no rewards. Run with -T critic=reward, or with -T "
                "critic=stepwise --logprobs --top-logprobs 20, or import step scores."
            )
        of_model = by_model.setdefault(log.eval.model, {})
        for row in rows:
            if (row.subset, row.id) in of_model:
                raise MisstepError(
                    f"{location}: the sample {row.id!r} of {log.eval.model} is in another log, "
                    "too. Name each run once, and use runs with one epoch."
                )
            of_model[row.subset, row.id] = row
    return {model: list(rows.values()) for model, rows in by_model.items()}


@dataclass(frozen=True)
class TunedThreshold:
    """A model's threshold, chosen on one subset, with the curves of all subsets."""

    model: str
    subset: str
    threshold: float
    curves: dict[str, ThresholdCurve]

    def summary(self) -> dict[str, Any]:
        """The metrics at the tuned and at the default threshold, as JSON types."""
        return {
            "model": self.model,
            "tuned_on": self.subset,
            "threshold": self.threshold,
            "subsets": {
                subset: {
                    "tuned": curve.at(self.threshold).record(),
                    "default": curve.at(THRESHOLD).record(),
                    "calibration_error": calibration_error(curve.calibration()),
                }
                for subset, curve in self.curves.items()
            },
        }

    def tables(self) -> list[TextTable]:
        """The metrics in percent with intervals, then the calibration of the rewards."""
        rows, calibrations = [], []
        for subset, curve in self.curves.items():
            for value in (self.threshold, THRESHOLD):
                metrics = curve.at(value)
                mark = "*" * (subset == self.subset and value == self.threshold)
                estimates = (metrics.f1_score, metrics.error_accuracy, metrics.correct_accuracy)
                cells = [with_interval(e.value, e.lower, e.upper) for e in estimates]
                rows.append([one_line(subset) + mark, f"{value:.2f}", *cells])
            error = calibration_error(curve.calibration())
            counts = [f"{len(curve.rows):,}", f"{sum(map(len, curve.steps)):,}"]
            cell = UNDEFINED if isnan(error) else f"{error:.3f}"
            calibrations.append([one_line(subset), *counts, cell])
        title = (
            f"{one_line(self.model)}: metrics in percent at the tuned threshold "
            f"{self.threshold:.2f} (* tuned on) and at the default {THRESHOLD:.2f}"
        )
        return [
            TextTable(["subset", "threshold", "F1", "error acc.", "correct acc."], rows, title),
            TextTable(["subset", "samples", "steps", "calibration error"], calibrations),
        ]


def tune_threshold(model: str, rows: Sequence[RewardRow], subset: str) -> TunedThreshold:
    """Choose the threshold with the best F1 on a subset."""
    subsets = sorted({row.subset for row in rows})
    if subset not in subsets:
        raise UnknownNameError("subset to tune on", subset, subsets)
    curves = {name: ThresholdCurve(row for row in rows if row.subset == name) for name in subsets}
    return TunedThreshold(model, subset, curves[subset].best(), curves)


def threshold_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and threshold: the data of the curves."""
    names = ("threshold", *METRICS, "precision", "recall")
    records: list[dict[str, Any]] = []
    for subset, curve in curves.items():
        columns = [curve.thresholds, curve.f1_scores, *curve.accuracies]
        columns += curve.precision_and_recall()
        rows = np.column_stack(columns).tolist()
        records += [{"subset": subset, **dict(zip(names, row, strict=True))} for row in rows]
    return [to_json(record) for record in records]


def calibration_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and bin of rewards."""
    return [
        {"subset": subset, **to_json(one)}
        for subset, curve in curves.items()
        for one in curve.calibration()
    ]


def threshold_charts(curves: Mapping[str, ThresholdCurve], tuned: float, title: str) -> "Chart":
    """F1 by threshold, precision and recall of wrong steps, and calibration, side by side."""
    alt = chart_library()
    unit = alt.Scale(domain=[0, 1])
    colour = alt.Color("subset:N", title="subset", sort=list(curves))
    base = alt.Chart(alt.Data(values=threshold_records(curves)))
    f1 = base.mark_line().encode(
        x=alt.X("threshold:Q", scale=unit),
        y=alt.Y("f1_score:Q", title="F1", scale=unit),
        color=colour,
        tooltip=["subset:N", "threshold:Q", alt.Tooltip("f1_score:Q", format=".3f")],
    )
    chosen = alt.Chart(alt.Data(values=[{"threshold": tuned}]))
    rule = chosen.mark_rule(strokeDash=[4, 4]).encode(x="threshold:Q")
    curve = base.mark_line(point=True).encode(
        x=alt.X("recall:Q", scale=unit),
        y=alt.Y("precision:Q", scale=unit),
        order="threshold:Q",
        color=colour,
        tooltip=["subset:N", "threshold:Q", "precision:Q", "recall:Q"],
    )
    records = [record for record in calibration_records(curves) if record["steps"]]
    ends = [{"mean_reward": 0, "right": 0}, {"mean_reward": 1, "right": 1}]
    ideal = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[4, 4], color="grey")
    bins = alt.Chart(alt.Data(values=records)).mark_line(point=True)
    bins = bins.encode(
        x=alt.X("mean_reward:Q", title="mean reward", scale=unit),
        y=alt.Y("right:Q", title="share of right steps", scale=unit),
        color=colour,
        tooltip=["subset:N", "steps:Q", "mean_reward:Q", "right:Q"],
    )
    errors = {name: calibration_error(curve.calibration()) for name, curve in curves.items()}
    listed = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    panels = {
        "F1 by threshold": f1 + rule,
        "Wrong steps: precision and recall": curve,
        "Calibration": ideal.encode(x="mean_reward:Q", y="right:Q") + bins,
    }
    charts = [
        panel.properties(title=alt.TitleParams(name), width=300, height=240)
        for name, panel in panels.items()
    ]
    charts[-1].title.subtitle = f"expected error: {listed}"
    chart: Chart = alt.hconcat(*charts).properties(title=f"{title}: threshold {tuned}")
    return chart
