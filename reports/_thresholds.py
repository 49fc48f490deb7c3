"""First errors from step rewards at every threshold, without calling a model again.

The curves are returned as data and as charts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan, nan
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.registry import MisstepError, UnknownNameError
from misstep.reports._charts import chart_library
from misstep.reports._paired import Array
from misstep.reports._step_rewards import RewardRow, StepScores, calibration_error
from misstep.reports._text import (
    UNDEFINED,
    TextTable,
    cluster_note,
    one_line,
    to_json,
    with_interval,
)
from misstep.rewards import THRESHOLD
from misstep.scorers import SEED, Estimate, f1_estimate, share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

CROSS_VALIDATION = "cross-validation"
"""The way to tune that needs no other data."""
FOLDS = 10
METRICS = ("f1_score", "error_accuracy", "correct_accuracy")

_NEVER = (inf, inf)


@dataclass(frozen=True)
class ThresholdMetrics:
    """The first-error metrics of some samples. Intervals take clusters as their units."""

    f1_score: Estimate
    error_accuracy: Estimate
    correct_accuracy: Estimate
    error_count: int
    correct_count: int
    independent_f1_score: Estimate
    """F1 with the interval of independent samples."""

    def record(self) -> dict[str, Any]:
        """The metrics as JSON types; undefined metrics are None."""
        record: dict[str, Any] = {}
        for name in (*METRICS, "independent_f1_score"):
            estimate: Estimate = getattr(self, name)
            known = not isnan(estimate.value)
            record[name] = estimate.value if known else None
            record[f"{name}_interval"] = [estimate.lower, estimate.upper] if known else None
        return record | {"errors": self.error_count, "corrects": self.correct_count}


class ThresholdCurve:
    """The metrics of some samples at all thresholds.

    A sample is right at the thresholds between two of its rewards: the first wrong step must be
    below the threshold and no earlier step may be; without an error, no step may be below it. So
    each sample has one range of thresholds. The range is empty if a reward before the verdict is
    missing.
    """

    def __init__(self, rows: Iterable[RewardRow]) -> None:
        self.rows = list(rows)
        self.steps = StepScores(self.rows)
        self._has_error = np.array([row.label != NO_ERROR for row in self.rows], dtype=bool)
        self._ranges = np.array([_hit_range(row) for row in self.rows]).reshape(-1, 2)

    @cached_property
    def thresholds(self) -> Array:
        """All thresholds that give different verdicts: the observed rewards, then infinity.

        Thresholds between two neighbours give the same verdicts as the higher one.
        """
        return np.append(self.steps.observed, inf)

    @cached_property
    def f1_scores(self) -> Array:
        """F1 at each threshold; nan unless there are samples with and without an error."""
        errors, corrects = self.accuracies
        total = errors + corrects
        f1: Array = np.where(np.isnan(total), nan, 0.0)
        return np.divide(2 * errors * corrects, total, out=f1, where=total > 0)

    @cached_property
    def accuracies(self) -> tuple[Array, Array]:
        """Error accuracy and correct accuracy at each threshold."""
        errors, corrects = (
            _share_of_hits(self._ranges[chosen], self.thresholds)
            for chosen in (self._has_error, ~self._has_error)
        )
        return errors, corrects

    def best(self) -> float:
        """The threshold with the highest F1.

        All thresholds between two observed rewards give the same verdicts. Of several best ranges,
        the nearest to the default is taken, then the lower one. Within the range, the default is
        taken if it is there, else the middle.
        """
        if np.isnan(self.f1_scores).all():
            raise MisstepError(
                "A threshold can be tuned only on samples with and without an error. Here are "
                f"{int(self._has_error.sum())} with and {int((~self._has_error).sum())} without."
            )
        is_best = self.f1_scores == np.nanmax(self.f1_scores)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], is_best, [False]]).astype(int)))
        lowers = np.concatenate([[-inf], self.thresholds])
        ranges = [
            (float(lowers[start]), float(self.thresholds[end - 1]))
            for start, end in edges.reshape(-1, 2).tolist()
        ]
        return _inside(*min(ranges, key=lambda ends: (_distance(*ends), ends)))

    def hits(self, threshold: float) -> list[float]:
        """Whether each sample is right at a threshold."""
        return [float(lower < threshold <= upper) for lower, upper in self._ranges.tolist()]

    def at(self, threshold: float) -> ThresholdMetrics:
        """The metrics at a threshold, with intervals."""
        return metrics_of_hits(self.rows, self.hits(threshold))

    def cross_validated(self) -> tuple[ThresholdMetrics, list[float]]:
        """The metrics of thresholds that were tuned on other clusters, and these thresholds.

        Clusters are divided at random into FOLDS folds. The threshold for a fold is the best one
        on all other folds.
        """
        units = sorted({row.unit for row in self.rows})
        if len(units) < 2:
            raise MisstepError("Cross-validation needs two clusters of samples or more.")
        Random(SEED).shuffle(units)  # noqa: S311 (not a secret)
        fold_of = {unit: number % FOLDS for number, unit in enumerate(units)}
        hits: dict[str, float] = {}
        thresholds = []
        for fold in range(min(FOLDS, len(units))):
            held = [row for row in self.rows if fold_of[row.unit] == fold]
            rest = [row for row in self.rows if fold_of[row.unit] != fold]
            threshold = ThresholdCurve(rest).best()
            thresholds.append(threshold)
            own = ThresholdCurve(held).hits(threshold)
            hits |= {row.id: hit for row, hit in zip(held, own, strict=True)}
        return metrics_of_hits(self.rows, [hits[row.id] for row in self.rows]), thresholds


def metrics_of_hits(rows: Sequence[RewardRow], hits: Sequence[float]) -> ThresholdMetrics:
    """The first-error metrics of samples that are right (1) or wrong (0)."""
    pairs = list(zip(rows, hits, strict=True))
    errors, corrects = (
        [(hit, row.unit) for row, hit in pairs if (row.label != NO_ERROR) == which]
        for which in (True, False)
    )
    (error_hits, error_units), (correct_hits, correct_units) = (
        ([hit for hit, _ in side], [unit for _, unit in side]) for side in (errors, corrects)
    )
    return ThresholdMetrics(
        f1_estimate(error_hits, correct_hits, error_units, correct_units),
        share(error_hits, error_units),
        share(correct_hits, correct_units),
        len(errors),
        len(corrects),
        f1_estimate(error_hits, correct_hits),
    )


def _share_of_hits(ranges: Array, thresholds: Array) -> Array:
    if not len(ranges):
        return np.full(len(thresholds), nan)
    possible = ranges[ranges[:, 0] < ranges[:, 1]]
    begun, ended = (
        np.searchsorted(np.sort(possible[:, side]), thresholds, side="left") for side in (0, 1)
    )
    hits: Array = (begun - ended) / len(ranges)
    return hits


def _distance(lower: float, upper: float) -> float:
    """How far a range of thresholds is from the default."""
    if lower < THRESHOLD <= upper:
        return 0.0
    return min(abs(lower - THRESHOLD), abs(upper - THRESHOLD))


def _inside(lower: float, upper: float) -> float:
    """A threshold above the lower end of a range, up to its upper end."""
    if lower < THRESHOLD <= upper:
        return THRESHOLD
    if lower == -inf:
        return upper
    if upper == inf:
        return float(np.nextafter(lower, inf))
    middle = (lower + upper) / 2
    return middle if lower < middle else upper


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


@dataclass(frozen=True)
class TunedSubset:
    """The threshold for a subset, and what it gives."""

    curve: ThresholdCurve
    threshold: float
    """The best threshold on the tuning subset. With cross-validation: on all of this subset."""
    tuned: ThresholdMetrics
    fold_thresholds: list[float]
    """With cross-validation: the thresholds that give the metrics."""

    def record(self) -> dict[str, Any]:
        """All numbers as JSON types."""
        steps = self.curve.steps
        return {
            "threshold": self.threshold,
            "fold_thresholds": self.fold_thresholds,
            "tuned": self.tuned.record(),
            "default": self.curve.at(THRESHOLD).record(),
            "steps": len(steps),
            "wrong_steps": int(steps.wrong.sum()),
            "steps_without_reward": steps.missing,
            "auroc": steps.auroc,
            "average_precision": steps.average_precision,
            "brier": steps.brier(),
            "calibration_error": calibration_error(steps.calibration()),
            "calibration": steps.calibration(),
        }


@dataclass(frozen=True)
class TunedThreshold:
    """The thresholds of a model, tuned on one subset or by cross-validation in each subset."""

    model: str
    tuned_on: str
    subsets: dict[str, TunedSubset]

    @property
    def curves(self) -> dict[str, ThresholdCurve]:
        """The curve of each subset."""
        return {name: one.curve for name, one in self.subsets.items()}

    @property
    def thresholds(self) -> list[float]:
        """The different thresholds."""
        return sorted({one.threshold for one in self.subsets.values()})

    def summary(self) -> dict[str, Any]:
        """The metrics at the tuned and at the default threshold, as JSON types."""
        one = self.thresholds[0] if len(self.thresholds) == 1 else None
        subsets = {name: to_json(subset.record()) for name, subset in self.subsets.items()}
        head = {"model": self.model, "tuned_on": self.tuned_on, "threshold": one}
        return head | {"default_threshold": THRESHOLD, "subsets": subsets}

    def tables(self) -> list[TextTable]:
        """The metrics in percent with intervals, then how well rewards find wrong steps."""
        rows, steps = [], []
        for name, subset in self.subsets.items():
            mark = "*" * (name == self.tuned_on)
            for text, metrics in (
                (_threshold_text(subset), subset.tuned),
                (f"{THRESHOLD:g}", subset.curve.at(THRESHOLD)),
            ):
                estimates = (metrics.f1_score, metrics.error_accuracy, metrics.correct_accuracy)
                cells = [with_interval(e.value, e.lower, e.upper) for e in estimates]
                rows.append([one_line(name) + mark, text, *cells])
                mark = ""
            steps.append([one_line(name), *_step_cells(subset.curve.steps)])
        title = f"{one_line(self.model)}: metrics in percent at the tuned threshold"
        if self.tuned_on == CROSS_VALIDATION:
            title += f" (cross-validation, {FOLDS} folds)"
        else:
            title += f" (tuned on {one_line(self.tuned_on)} *)"
        title += f" and at the default {THRESHOLD:g}"
        headings = ["subset", "steps", "wrong", "AUROC", "AP", "ECE", "bins"]
        return [
            TextTable(["subset", "threshold", "F1", "error acc.", "correct acc."], rows, title),
            TextTable(headings, steps, "Steps up to the first wrong one"),
        ]

    def notes(self) -> Iterator[str]:
        """Say what these numbers leave out, and which intervals clusters change."""
        missing = sum(one.curve.steps.missing for one in self.subsets.values())
        if missing:
            yield f"{missing:,} steps without a reward are left out of the numbers on steps."
        for name, subset in self.subsets.items():
            metrics = subset.tuned
            note = cluster_note(f"{name}, F1", metrics.f1_score, metrics.independent_f1_score)
            if note:
                yield note


def threshold_method() -> str:
    """What the tables count."""
    return (
        "Steps are counted up to and including the first wrong one: later steps have no label. "
        "AUROC and AP (average precision) take wrong steps as the positive class. ECE is the "
        "expected calibration error, over bins of about equal counts; 'bins' has their number and "
        "sizes. Intervals are 95%, with clusters of samples as their units."
    )


def _threshold_text(subset: TunedSubset) -> str:
    if not subset.fold_thresholds:
        return f"{subset.threshold:.5g}"
    ends = [f"{end:.4g}" for end in (min(subset.fold_thresholds), max(subset.fold_thresholds))]
    return "–".join(dict.fromkeys(ends))


def _step_cells(steps: StepScores) -> list[str]:
    bins = steps.calibration()
    error = calibration_error(bins)
    sizes = [one.steps for one in bins]
    return [
        f"{len(steps):,}",
        f"{int(steps.wrong.sum()):,}",
        *(with_interval(e.value, e.lower, e.upper) for e in (steps.auroc, steps.average_precision)),
        UNDEFINED if isnan(error) else f"{error:.3f}",
        f"{len(bins)} of {min(sizes)}–{max(sizes)}" if bins else UNDEFINED,
    ]


def tune_threshold(model: str, rows: Sequence[RewardRow], tune: str) -> TunedThreshold:
    """Choose the threshold with the best F1 on a subset, or by cross-validation in each subset."""
    names = sorted({row.subset for row in rows})
    curves = {name: ThresholdCurve(row for row in rows if row.subset == name) for name in names}
    subsets: dict[str, TunedSubset] = {}
    if tune == CROSS_VALIDATION:
        for name, curve in curves.items():
            metrics, thresholds = curve.cross_validated()
            subsets[name] = TunedSubset(curve, curve.best(), metrics, thresholds)
        return TunedThreshold(model, tune, subsets)
    if tune not in names:
        raise UnknownNameError("subset to tune on", tune, [*names, CROSS_VALIDATION])
    best = curves[tune].best()
    for name, curve in curves.items():
        subsets[name] = TunedSubset(curve, best, curve.at(best), [])
    return TunedThreshold(model, tune, subsets)


def threshold_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and observed reward as threshold: the data of the curves."""
    names = ("threshold", *METRICS, "precision", "recall")
    records: list[dict[str, Any]] = []
    for subset, curve in curves.items():
        columns = [curve.thresholds, curve.f1_scores, *curve.accuracies]
        columns += curve.steps.precision_and_recall(curve.thresholds)
        rows = np.column_stack(columns).tolist()
        records += [{"subset": subset, **dict(zip(names, row, strict=True))} for row in rows]
    return [to_json(record) for record in records]


def calibration_records(curves: Mapping[str, ThresholdCurve]) -> list[dict[str, Any]]:
    """One row per subset and bin of rewards."""
    return [
        {"subset": subset, **to_json(one)}
        for subset, curve in curves.items()
        for one in curve.steps.calibration()
    ]


def threshold_charts(
    curves: Mapping[str, ThresholdCurve], tuned: Sequence[float], title: str
) -> "Chart":
    """F1 by threshold, precision and recall of wrong steps, and calibration, side by side."""
    alt = chart_library()
    unit = alt.Scale(domain=[0, 1])
    colour = alt.Color("subset:N", title="subset", sort=list(curves))
    # The last threshold of each subset is infinite: it has no place on an axis.
    points = [one for one in threshold_records(curves) if one["threshold"] is not None]
    base = alt.Chart(alt.Data(values=points))
    f1 = base.mark_line(interpolate="step-before").encode(
        x=alt.X("threshold:Q", scale=unit),
        y=alt.Y("f1_score:Q", title="F1", scale=unit),
        color=colour,
        tooltip=["subset:N", "threshold:Q", alt.Tooltip("f1_score:Q", format=".3f")],
    )
    chosen = alt.Chart(alt.Data(values=[{"threshold": one} for one in tuned]))
    rule = chosen.mark_rule(strokeDash=[4, 4]).encode(x="threshold:Q")
    curve = base.mark_line().encode(
        x=alt.X("recall:Q", scale=unit),
        y=alt.Y("precision:Q", scale=unit),
        order="threshold:Q",
        color=colour,
        tooltip=["subset:N", "threshold:Q", "precision:Q", "recall:Q"],
    )
    records = calibration_records(curves)
    ends = [{"mean_reward": 0, "right": 0}, {"mean_reward": 1, "right": 1}]
    ideal = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[4, 4], color="grey")
    bins = alt.Chart(alt.Data(values=records)).mark_line(point=True)
    bins = bins.encode(
        x=alt.X("mean_reward:Q", title="mean reward", scale=unit),
        y=alt.Y("right:Q", title="share of right steps", scale=unit),
        color=colour,
        tooltip=["subset:N", "steps:Q", "mean_reward:Q", "right:Q"],
    )
    errors = {name: calibration_error(curve.steps.calibration()) for name, curve in curves.items()}
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
    chart: Chart = alt.hconcat(*charts).properties(
        title=f"{title}: threshold {', '.join(f'{one:.5g}' for one in tuned)}"
    )
    return chart
