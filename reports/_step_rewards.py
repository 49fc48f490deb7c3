"""The rewards of single steps: how well they find wrong steps, and what else they depend on.

Steps are counted up to the first wrong step: later steps have no label. A step with a low reward is
suspected to be wrong, so wrong steps are the positive class. Definitions are those of scikit-learn.
The length, the position and the style of a step should not change its reward.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep.registry import MisstepError
from misstep.reports._paired import Array
from misstep.reports._read_runs import read_log
from misstep.reports._runs import FrameRow, Run, dataframe, estimate_columns, run_labels
from misstep.scorers import SEED, Estimate, from_draws
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import pandas

Statistic: TypeAlias = Callable[[Array, Array], Array]
"""A metric of resamples. Arguments: the weights of wrong and of right steps at each reward."""

SCORER = "first_error"
NO_SUBSET = "all"
"""The subset of samples that name none."""

BINS = 10
RESAMPLES = 2_000
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_MOST_CELLS = 2_000_000
"""How many weights are held in memory at once."""

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


@dataclass(frozen=True)
class RewardRow:
    """One sample: its label and the reward of each step, None if a reward is missing."""

    id: str
    subset: str
    label: int
    rewards: Sequence[float | None]
    cluster: str | None = None
    """Rows of one cluster are not independent. None: the row is a cluster of its own."""

    @property
    def unit(self) -> str:
        """The cluster, or the row if it has none."""
        return f"row {self.id}" if self.cluster is None else self.cluster


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
                cluster=sample.metadata.get("cluster"),
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
class RewardBin:
    """Steps with about the same reward."""

    lower: float
    upper: float
    steps: int
    mean_reward: float
    right: float
    """The share of right steps."""


class StepScores:
    """The rewards of the steps whose truth is known."""

    def __init__(self, rows: Iterable[RewardRow]) -> None:
        rewards: list[float] = []
        wrong: list[bool] = []
        units: list[str] = []
        self.missing = 0
        """Steps without a reward. They are left out."""
        for row in rows:
            end = len(row.rewards) if row.label == NO_ERROR else row.label + 1
            for step, reward in enumerate(row.rewards[:end]):
                if reward is None:
                    self.missing += 1
                    continue
                rewards.append(reward)
                wrong.append(step == row.label)
                units.append(row.unit)
        order = np.argsort(np.array(rewards), kind="stable")
        self.rewards: Array = np.array(rewards, dtype=float)[order]
        self.wrong: NDArray[np.bool_] = np.array(wrong, dtype=bool)[order]
        self._units = np.unique(np.array(units, dtype=str), return_inverse=True)[1][order]

    def __len__(self) -> int:
        return len(self.rewards)

    @cached_property
    def observed(self) -> Array:
        """The different rewards, in ascending order."""
        return np.unique(self.rewards)

    def precision_and_recall(self, thresholds: Array) -> tuple[Array, Array]:
        """Precision and recall of wrong steps if a reward below the threshold means wrong.

        Undefined values are nan.
        """
        called = np.searchsorted(self.rewards, thresholds, side="left")
        found = np.concatenate([[0], np.cumsum(self.wrong)])[called]
        precision: Array = np.full(len(thresholds), nan)
        np.divide(found, called, out=precision, where=called > 0)
        total = int(self.wrong.sum())
        recall = found / total if total else np.full(len(thresholds), nan)
        return precision, recall

    @cached_property
    def auroc(self) -> Estimate:
        """The probability that a wrong step has a lower reward than a right one; ties are half."""
        return self._estimate(_auroc)

    @cached_property
    def average_precision(self) -> Estimate:
        """The mean of the precisions at each threshold, weighted by the increase in recall."""
        return self._estimate(_average_precision)

    def _estimate(self, statistic: Statistic) -> Estimate:
        """A statistic with the percentile interval of resamples of whole clusters.

        There is no interval if all resamples give the same value, as with perfect separation.
        """
        if not self.wrong.any() or self.wrong.all():
            return Estimate(nan, nan, nan)
        starts = np.searchsorted(self.rewards, self.observed)

        def values(weights: Array) -> Array:
            wrong = np.add.reduceat(weights * self.wrong, starts, axis=1)
            right = np.add.reduceat(weights * ~self.wrong, starts, axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                return statistic(wrong, right)

        value = float(values(np.ones((1, len(self))))[0])
        clusters = int(self._units.max()) + 1
        generator = np.random.default_rng(SEED)
        draws: list[Array] = []
        left = RESAMPLES
        while left:
            size = min(left, max(1, _MOST_CELLS // len(self)))
            drawn = generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=size)
            draws.append(values(drawn[:, self._units].astype(float)))
            left -= size
        found = from_draws(value, np.concatenate(draws))
        return found if found.upper > found.lower else Estimate(value, nan, nan)

    def calibration(self) -> list[RewardBin]:
        """Steps in bins of about equal counts by reward, with the share of right steps in each.

        The mean rank of a reward decides its bin. Equal rewards are in one bin, so that there can
        be fewer bins, of unequal sizes.
        """
        first, last = (np.searchsorted(self.rewards, self.rewards, side) for side in _SIDES)
        places = (first + last) * BINS // (2 * max(1, len(self)))
        bins = []
        for place in np.unique(places):
            chosen = places == place
            rewards, right = self.rewards[chosen], ~self.wrong[chosen]
            bins.append(
                RewardBin(
                    float(rewards.min()),
                    float(rewards.max()),
                    int(chosen.sum()),
                    float(rewards.mean()),
                    float(right.mean()),
                )
            )
        return bins

    def brier(self) -> float:
        """The mean squared distance of rewards from the labels."""
        return float(np.mean((self.rewards - ~self.wrong) ** 2)) if len(self) else nan


def _auroc(wrong: Array, right: Array) -> Array:
    below = np.cumsum(wrong, axis=1) - wrong
    pairs = (right * (below + wrong / 2)).sum(axis=1)
    auroc: Array = pairs / (wrong.sum(axis=1) * right.sum(axis=1))
    return auroc


def _average_precision(wrong: Array, right: Array) -> Array:
    found = np.cumsum(wrong, axis=1)
    called = found + np.cumsum(right, axis=1)
    precision = np.divide(found, called, out=np.zeros_like(found), where=called > 0)
    mean: Array = (precision * wrong).sum(axis=1) / wrong.sum(axis=1)
    return mean


def calibration_error(bins: Sequence[RewardBin]) -> float:
    """The expected calibration error: the mean gap of reward and share of right steps."""
    total = sum(one.steps for one in bins)
    if total == 0:
        return nan
    return sum(one.steps * abs(one.mean_reward - one.right) for one in bins) / total


def step_features(steps: Sequence[str]) -> list[tuple[int, int]]:
    """Return the length and the style of each step."""
    return [(len(step), _style(step)) for step in steps]


def _style(step: str) -> int:
    return 2 if _FORMULA.search(step) else 1 if _CALCULATION.search(step) else 0


@dataclass(frozen=True)
class LabelledSteps:
    """The labelled steps of a run that have a reward. Each array has one element for each step."""

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

    The first is that of the rewards. The second is that of length, position and style alone: a
    linear discriminant, cross-validated over clusters. The third is that of the rewards adjusted
    for these: the residuals of a regression that is fitted to right steps, which is the
    covariate-adjusted AUROC of Janes and Pepe (Biometrika 96, 2009). Intervals are those of
    clustered data (Obuchowski, Biometrics 53, 1997).
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
    """How right each step is by its covariates alone, predicted by a fit to other clusters."""
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
