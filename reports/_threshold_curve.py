"""First errors from rewards at every threshold, without asking a model again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan
from typing import TYPE_CHECKING, TypeAlias

from misstep.scorers import Estimate, f1_draws, from_draws, harmonic_mean, share
from misstep.verdicts import NO_ERROR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

THRESHOLDS = 101
"""0, 0.01 and so on to 1."""
BINS = 10


@dataclass(frozen=True)
class RewardRow:
    """What is known of one sample: its label, and the reward of each step, None if missing."""

    id: str
    subset: str
    label: int
    rewards: Sequence[float | None]


@dataclass(frozen=True)
class Figures:
    """First-error figures at one threshold."""

    threshold: float
    f1_score: Estimate
    error_accuracy: Estimate
    correct_accuracy: Estimate
    error_count: int
    correct_count: int


@dataclass(frozen=True)
class Bin:
    """Steps whose rewards are about the same."""

    lower: float
    upper: float
    steps: int
    mean_reward: float
    right: float
    """The share of them that is right; nan where there are none."""


class ThresholdCurve:
    """Some samples at all thresholds.

    A sample is hit by the thresholds between two of its rewards: the first wrong step must be under
    the threshold and no step before it may be; without an error no step may be. So its hits are a
    range of thresholds, and a missing reward that stands before the verdict leaves none.
    """

    def __init__(self, rows: Iterable[RewardRow]) -> None:
        import numpy as np

        self.rows = list(rows)
        self.thresholds: Floats = np.linspace(0, 1, THRESHOLDS).round(2)
        self._has_error = np.array([row.label != NO_ERROR for row in self.rows], dtype=bool)
        self._ranges = np.array([_hit_range(row) for row in self.rows]).reshape(-1, 2)

    @cached_property
    def f1_scores(self) -> Floats:
        """F1 at each threshold, nan where one of the two sets is empty."""
        import numpy as np

        errors, corrects = self.accuracies
        total = errors + corrects
        f1: Floats = np.where(np.isnan(total), nan, 0.0)
        return np.divide(2 * errors * corrects, total, out=f1, where=total > 0)

    @cached_property
    def accuracies(self) -> tuple[Floats, Floats]:
        """Error accuracy and correct accuracy at each threshold."""
        import numpy as np

        lower, upper = self._ranges[:, :1], self._ranges[:, 1:]
        hits = (lower < self.thresholds) & (self.thresholds <= upper)
        unknown: Floats = np.full(THRESHOLDS, nan)
        errors, corrects = (
            hits[chosen].mean(axis=0) if chosen.any() else unknown
            for chosen in (self._has_error, ~self._has_error)
        )
        return errors, corrects

    def best(self) -> float:
        """The threshold with the highest F1; of several the one nearest to 0.5, then the lower."""
        import numpy as np

        top = np.flatnonzero(self.f1_scores == np.nanmax(self.f1_scores))
        best = min(top, key=lambda i: (abs(self.thresholds[i] - 0.5), self.thresholds[i]))
        return float(self.thresholds[best])

    def at(self, threshold: float) -> Figures:
        """The figures at a threshold, with intervals."""
        hits = [float(lower < threshold <= upper) for lower, upper in self._ranges]
        errors = [hit for hit, wrong in zip(hits, self._has_error, strict=True) if wrong]
        corrects = [hit for hit, wrong in zip(hits, self._has_error, strict=True) if not wrong]
        of_errors, of_corrects = share(errors), share(corrects)
        f1 = harmonic_mean(of_errors.value, of_corrects.value)
        interval = from_draws(f1, f1_draws(errors, corrects))
        return Figures(threshold, interval, of_errors, of_corrects, len(errors), len(corrects))

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """The rewards of right steps and of first wrong steps.

        Whether a step after the first wrong one is right is not known, so it is not among them.
        """
        import numpy as np

        right: list[float] = []
        wrong: list[float] = []
        for row in self.rows:
            end = len(row.rewards) if row.label == NO_ERROR else row.label
            right += [reward for reward in row.rewards[:end] if reward is not None]
            if row.label != NO_ERROR:
                first = row.rewards[row.label : row.label + 1]
                wrong += [reward for reward in first if reward is not None]
        return np.sort(np.array(right, dtype=float)), np.sort(np.array(wrong, dtype=float))

    def precision_and_recall(self) -> tuple[Floats, Floats]:
        """Of calling a step wrong that is under the threshold, by steps; nan where undefined."""
        import numpy as np

        right, wrong = self.steps
        false_alarms = np.searchsorted(right, self.thresholds, side="left")
        found = np.searchsorted(wrong, self.thresholds, side="left")
        called = (found + false_alarms).astype(float)
        precision: Floats = np.full(THRESHOLDS, nan)
        np.divide(found, called, out=precision, where=called > 0)
        recall = found / len(wrong) if len(wrong) else np.full(THRESHOLDS, nan)
        return precision, recall

    def calibration(self) -> list[Bin]:
        """Rewards in bins of equal width, with the share of their steps that is right."""
        import numpy as np

        right, wrong = self.steps
        rewards = np.concatenate([right, wrong])
        is_right = np.concatenate([np.ones(len(right)), np.zeros(len(wrong))])
        places = np.minimum((rewards * BINS).astype(int), BINS - 1)
        bins = []
        for place in range(BINS):
            chosen = places == place
            count = int(chosen.sum())
            mean, share_right = (
                (float(rewards[chosen].mean()), float(is_right[chosen].mean()))
                if count
                else (nan, nan)
            )
            bins.append(Bin(place / BINS, (place + 1) / BINS, count, mean, share_right))
        return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: how far rewards and shares are apart, weighed by steps."""
    total = sum(one.steps for one in bins)
    if total == 0:
        return nan
    return sum(one.steps * abs(one.mean_reward - one.right) for one in bins if one.steps) / total


_NEVER = (inf, inf)


def _hit_range(row: RewardRow) -> tuple[float, float]:
    """The thresholds that hit a sample: above the first number, up to the second."""
    known = row.rewards if row.label == NO_ERROR else row.rewards[: row.label + 1]
    if not known or row.label >= len(row.rewards):
        return _NEVER
    rewards = [reward for reward in known if reward is not None]
    if len(rewards) < len(known):
        return _NEVER
    if row.label == NO_ERROR:
        return -inf, min(rewards)
    return rewards[-1], min(rewards[:-1], default=inf)
