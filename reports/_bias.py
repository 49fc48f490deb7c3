"""Do rewards depend on the length, the position or the style of a step, and what is left then?

Steps are counted up to the first wrong step: later steps have no label.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from misstep.reports._frames import FrameRow, dataframe, estimate_columns, run_labels
from misstep.reports._paired import Array
from misstep.reports._runs import Run
from misstep.scorers import Estimate
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import pandas

BIASES = ("length", "position", "style")
STYLES = ("words only", "calculation", "formula")
_LENGTHS = (0, 50, 100, 200, 400)
"""The first number of characters of each group of steps."""
_FIFTHS, _FOLDS, _FEWEST = 5, 5, 20
_Z = NormalDist().inv_cdf(0.975)
_FORMULA = re.compile(r"\\[(\[a-zA-Z]|\$[^$]+\$")
_CALCULATION = re.compile(r"\d\s*[=+*/×÷<>-]|=\s*-?\d")

StepFeatures = Sequence[tuple[int, int]]
"""The number of characters of each step, and the place of its style in STYLES."""


def step_features(steps: Sequence[str]) -> list[tuple[int, int]]:
    """Return the length and the style of each step."""
    return [(len(step), _style(step)) for step in steps]


def _style(step: str) -> int:
    return 2 if _FORMULA.search(step) else 1 if _CALCULATION.search(step) else 0


@dataclass(frozen=True)
class LabelledSteps:
    """The labelled steps of a run that have a reward, one element of each array for each."""

    rewards: Array
    wrong: NDArray[np.bool_]
    length: Array
    position: Array
    style: NDArray[np.int64]
    clusters: NDArray[np.int64]

    @property
    def covariates(self) -> Array:
        """The properties of steps that should not decide a reward, as columns of a regression."""
        styles = [(self.style == place).astype(float) for place in range(1, len(STYLES))]
        length = np.log1p(self.length)
        columns = [np.ones(len(self.rewards)), length, self.position, self.position**2, *styles]
        return np.column_stack(columns)


def labelled_steps(
    runs: Sequence[Run], features: Mapping[str, StepFeatures]
) -> dict[str, LabelledSteps]:
    """The steps of each run that has rewards, by the run's label."""
    labels = run_labels(runs)
    by_label = {labels[run.id]: run for run in runs}
    found = {label: _labelled_steps(run, features) for label, run in by_label.items()}
    return {label: steps for label, steps in found.items() if steps is not None}


def _labelled_steps(run: Run, features: Mapping[str, StepFeatures]) -> LabelledSteps | None:
    rows: list[tuple[float, bool, int, float, int]] = []
    clusters: list[str] = []
    for sample in run.scored:
        rewards = next((one.rewards for one in sample.scores.values() if one.rewards), ())
        own = features.get(sample.id, ())
        if sample.label is None or not rewards:
            continue
        end = len(rewards) if sample.label == NO_ERROR else sample.label + 1
        for step, (reward, feature) in enumerate(zip(rewards[:end], own, strict=False)):
            if reward is not None:
                place = step / max(1, len(own) - 1)
                rows.append((reward, step == sample.label, feature[0], place, feature[1]))
                clusters.append(sample.cluster)
    if not rows:
        return None
    rewards_column, wrong, length, position, style = (
        np.array(one) for one in zip(*rows, strict=True)
    )
    return LabelledSteps(
        rewards_column.astype(float),
        wrong.astype(bool),
        length.astype(float),
        position.astype(float),
        style.astype(np.int64),
        np.unique(np.array(clusters), return_inverse=True)[1],
    )


def reward_by(steps: Mapping[str, LabelledSteps], by: str) -> "pandas.DataFrame":
    """The mean reward of right steps by length, position or style, with 95% intervals."""
    rows: list[FrameRow] = []
    for label, of_run in steps.items():
        for name, chosen in _groups(of_run, by):
            kept = chosen & ~of_run.wrong
            if kept.any():
                mean = _clustered_mean(of_run.rewards[kept], of_run.clusters[kept])
                columns = estimate_columns("reward", mean)
                rows.append({"run": label, "group": name, "steps": int(kept.sum()), **columns})
    table = dataframe(rows)
    return table if len(table) and table["group"].nunique() > 1 else table.head(0)


def _groups(steps: LabelledSteps, by: str) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    if by == "length":
        for place, start in enumerate(_LENGTHS):
            last = place + 1 == len(_LENGTHS)
            end = np.inf if last else _LENGTHS[place + 1]
            name = f"{start}+" if last else f"{start}–{end - 1}"
            yield name, (steps.length >= start) & (steps.length < end)
    elif by == "position":
        fifths = np.minimum(_FIFTHS - 1, (steps.position * _FIFTHS).astype(int))
        for place in range(_FIFTHS):
            begin = place * 100 // _FIFTHS
            yield f"{begin}–{begin + 100 // _FIFTHS}%", fifths == place
    else:
        for place, name in enumerate(STYLES):
            yield name, steps.style == place


def _clustered_mean(values: Array, clusters: NDArray[np.int64]) -> Estimate:
    """A mean with the normal interval of independent clusters."""
    mean = float(values.mean())
    sums = np.bincount(clusters, weights=values - mean)
    count = len(np.unique(clusters))
    if count < 2:
        return Estimate(mean, nan, nan)
    half = _Z * float(np.sqrt(count / (count - 1) * (sums**2).sum())) / len(values)
    return Estimate(mean, mean - half, mean + half)


def skill_left(steps: Mapping[str, LabelledSteps]) -> "pandas.DataFrame":
    """Three AUROCs of wrong steps for each run, with 95% intervals.

    Of the rewards. Of length, position and style alone: a linear discriminant, cross-validated
    over clusters. Of the rewards given these: the residuals of a regression that is fitted to right
    steps, which is the covariate-adjusted AUROC of Janes and Pepe (Biometrika 96, 2009). Intervals
    are those of clustered data (Obuchowski, Biometrics 53, 1997).
    """
    rows: list[FrameRow] = []
    for label, of_run in steps.items():
        if min(of_run.wrong.sum(), (~of_run.wrong).sum()) < _FEWEST:
            continue
        for what, scores in (
            ("rewards", of_run.rewards),
            ("length, position and style alone", _alone(of_run)),
            ("rewards, adjusted for them", _adjusted(of_run)),
        ):
            estimate = clustered_auroc(scores, of_run.wrong, of_run.clusters)
            columns = estimate_columns("auroc", estimate)
            rows.append({"run": label, "what": what, "steps": len(scores), **columns})
    return dataframe(rows)


def _adjusted(steps: LabelledSteps) -> Array:
    """The part of each reward that a regression on right steps does not explain."""
    right, x = ~steps.wrong, steps.covariates
    weights = np.linalg.lstsq(x[right], steps.rewards[right], rcond=None)[0]
    left: Array = steps.rewards - x @ weights
    return left


def _alone(steps: LabelledSteps) -> Array:
    """How right each step looks by its covariates alone, from a fit to other clusters."""
    x, folds = steps.covariates, steps.clusters % _FOLDS
    looks: Array = np.zeros(len(x))
    for fold in range(_FOLDS):
        own = folds == fold
        if own.any() and not own.all():
            fit = np.linalg.lstsq(x[~own], (~steps.wrong[~own]).astype(float), rcond=None)[0]
            looks[own] = x[own] @ fit
    return looks


def clustered_auroc(
    scores: Array, wrong: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> Estimate:
    """The probability that a wrong step scores lower than a right one; ties are half."""
    low, high = np.sort(scores[wrong]), np.sort(scores[~wrong])
    if not len(low) or not len(high):
        return Estimate(nan, nan, nan)

    def below(values: Array, among: Array) -> Array:
        left, right = (np.searchsorted(among, values, side) for side in ("left", "right"))
        share: Array = (left + right) / (2 * len(among))
        return share

    of_wrong, of_right = 1 - below(scores[wrong], high), below(scores[~wrong], low)
    value = float(of_wrong.mean())
    count = int(clusters.max()) + 1
    units = len(np.unique(clusters))
    if units < 2:
        return Estimate(value, nan, nan)
    parts = np.bincount(clusters[wrong], of_wrong - value, count) / len(low)
    parts += np.bincount(clusters[~wrong], of_right - value, count) / len(high)
    half = _Z * float(np.sqrt(units / (units - 1) * (parts**2).sum()))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))
