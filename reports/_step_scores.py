"""How well the rewards of single steps tell wrong steps from right ones.

Steps are counted up to the first wrong step: later steps have no label. A step with a low reward is
suspected to be wrong, so wrong steps are the positive class. Definitions are those of scikit-learn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep.reports._paired import Array
from misstep.scorers import SEED, Estimate, from_draws
from misstep.verdicts import NO_ERROR

Statistic: TypeAlias = Callable[[Array, Array], Array]
"""A metric of resamples. Arguments: the weights of wrong and of right steps at each reward."""

BINS = 10
RESAMPLES = 2_000
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_MOST_CELLS = 2_000_000
"""How many weights are held in memory at once."""


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
        """The cluster, or what stands for it."""
        return f"row {self.id}" if self.cluster is None else self.cluster


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
