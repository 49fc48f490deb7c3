"""How many samples show a difference, and how large a difference some samples can show.

Two runs on different samples are compared by the usual normal test of two shares, two runs on the
same samples by McNemar's exact test, whose power is summed over all outcomes, or approximated for
more than EXACT_UP_TO samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, log, log1p, sqrt
from statistics import NormalDist

from misstep.registry import MisstepError
from misstep.reports._paired import Array
from misstep.scorers import harmonic_mean

ALPHA, POWER = 0.05, 0.8
EXACT_UP_TO = 5_000
_MOST = 10_000_000
_FINEST = 1e-4
_RARE = 1e-9
_Z = NormalDist()


@dataclass(frozen=True)
class Aim:
    """What a test should do."""

    alpha: float = ALPHA
    """How often it may see a difference where there is none."""
    power: float = POWER
    """How often it should see one that is there."""

    @property
    def quantiles(self) -> tuple[float, float]:
        """Of the standard normal, for both."""
        return _Z.inv_cdf(1 - self.alpha / 2), _Z.inv_cdf(self.power)


def independent_discordance(first: float, second: float) -> float:
    """The share of samples that just one run has right, where hits do not go together.

    Runs mostly fail on the same samples, so that fewer differ and a test sees more.
    """
    return first * (1 - second) + second * (1 - first)


def unpaired_power(first: float, second: float, samples: int, alpha: float = ALPHA) -> float:
    """The power of the normal test of two shares, each on its own samples."""
    difference = abs(second - first)
    pooled = (first + second) / 2
    null = sqrt(2 * pooled * (1 - pooled) / samples)
    spread = sqrt((first * (1 - first) + second * (1 - second)) / samples)
    critical = _Z.inv_cdf(1 - alpha / 2) * null
    if spread == 0:
        return float(difference > critical)
    return _Z.cdf((difference - critical) / spread) + _Z.cdf((-difference - critical) / spread)


def paired_power(
    first: float, second: float, discordance: float, samples: int, alpha: float = ALPHA
) -> float:
    """The power of McNemar's test on the same samples.

    Args:
        first: One accuracy.
        second: The other.
        discordance: The share of samples that just one of the two has right.
        samples: How many.
        alpha: The level of the test.

    Raises:
        MisstepError: No two runs have such accuracies and such a discordance.
    """
    difference = abs(second - first)
    most = min(first + second, 2 - first - second)
    if not difference - 1e-9 <= discordance <= most + 1e-9:
        raise MisstepError(
            f"Accuracies of {first:.3g} and {second:.3g} differ on a share of samples between "
            f"{difference:.3g} and {most:.3g}; {discordance:.3g} is none of them."
        )
    if discordance <= 0:
        return 0.0
    if samples > EXACT_UP_TO:
        critical = _Z.inv_cdf(1 - alpha / 2) * sqrt(discordance)
        spread = sqrt(max(discordance - difference**2, 1e-12))
        return _Z.cdf((difference * sqrt(samples) - critical) / spread)
    return _exact_mcnemar_power(difference, discordance, samples, alpha)


def _exact_mcnemar_power(difference: float, discordance: float, n: int, alpha: float) -> float:
    import numpy as np

    of_differing = _binomial(n, min(1.0, discordance))
    favour = min(1.0, (discordance + difference) / (2 * discordance))
    total = 0.0
    for m in np.flatnonzero(of_differing > _RARE).tolist():
        if rejected := _rejected(m, alpha):
            outcomes = _binomial(m, favour)
            seen = outcomes[:rejected].sum() + outcomes[m + 1 - rejected :].sum()
            total += float(of_differing[m] * seen)
    return total


@cache
def _rejected(m: int, alpha: float) -> int:
    """Of 0 to m heads, how many outcomes on each side the exact test of a fair coin rejects."""
    import numpy as np

    return int((2 * np.cumsum(_binomial(m, 0.5))[: (m + 1) // 2] <= alpha).sum())


def _binomial(n: int, p: float) -> Array:
    """The probabilities of 0 to n."""
    import numpy as np

    k = np.arange(n + 1)
    if p in (0.0, 1.0):
        certain: Array = np.where(k == n * p, 1.0, 0.0)
        return certain
    logs = _log_factorials()
    exponents: Array = logs[n] - logs[k] - logs[n - k] + k * log(p) + (n - k) * log1p(-p)
    chances: Array = np.exp(exponents)
    return chances


@cache
def _log_factorials() -> Array:
    import numpy as np

    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, EXACT_UP_TO + 1)))])


def samples_needed(power_at: Callable[[int], float], aim: Aim) -> int | None:
    """The least number of samples with that power; None where no number has it.

    An exact test's power goes up in steps that fall back a little: the number is the end of a
    search by halves, at which the aim is met and one step before which it is not.
    """
    high = 8
    while power_at(high) < aim.power:
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= aim.power else (middle, high)
    return high


def unpaired_samples(first: float, second: float, aim: Aim) -> int | None:
    """How many samples each of two runs needs."""
    return samples_needed(lambda n: unpaired_power(first, second, n, aim.alpha), aim)


def paired_samples(
    first: float, second: float, aim: Aim, discordance: float | None = None
) -> int | None:
    """How many samples two runs need that share them; hits are independent where not told."""
    share = independent_discordance(first, second) if discordance is None else discordance
    if share > 0:
        z_alpha, z_power = aim.quantiles
        difference = abs(second - first)
        spread = sqrt(max(share - difference**2, 0.0))
        reach = z_alpha * sqrt(share) + z_power * spread
        if difference and (about := (reach / difference) ** 2) > EXACT_UP_TO:
            return ceil(about)
    return samples_needed(lambda n: paired_power(first, second, share, n, aim.alpha), aim)


def smallest_difference(
    accuracy: float, samples: int, aim: Aim, discordance: float | None = None, paired: bool = True
) -> float | None:
    """The smallest gain over an accuracy that so many samples show; None where none can.

    Args:
        accuracy: Of the weaker run.
        samples: How many.
        aim: How surely.
        discordance: The share of samples that just one of the two has right, where known; it is
            then that much, or the difference itself where that is more.
        paired: On the same samples, or each run on its own.
    """

    def power_of(gain: float) -> float:
        better = accuracy + gain
        if not paired:
            return unpaired_power(accuracy, better, samples, aim.alpha)
        free = independent_discordance(accuracy, better)
        share = free if discordance is None else discordance
        most = min(accuracy + better, 2 - accuracy - better)
        return paired_power(accuracy, better, min(max(share, gain), most), samples, aim.alpha)

    low, high = 0.0, 1 - accuracy
    if samples < 1 or high <= 0 or power_of(high) < aim.power:
        return None
    while high - low > _FINEST:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= aim.power else (middle, high)
    return high


def smallest_f1_difference(
    accuracies: tuple[float, float],
    samples: tuple[int, int],
    aim: Aim,
    discordances: tuple[float, float] | None = None,
    paired: bool = True,
) -> float | None:
    """The smallest difference of F1 that so many samples show, by the delta method.

    Args:
        accuracies: On samples with an error, and without one.
        samples: How many of both.
        aim: How surely.
        discordances: Of both, where known; else hits are independent.
        paired: On the same samples, or each run on its own.
    """
    error, correct = accuracies
    if min(samples) < 1 or error + correct == 0:
        return None
    slopes = [2 * (other / (error + correct)) ** 2 for other in (correct, error)]
    spreads = [2 * accuracy * (1 - accuracy) for accuracy in accuracies]
    if paired and discordances is not None:
        spreads = list(discordances)
    parts = zip(slopes, spreads, samples, strict=True)
    variance = sum(slope**2 * spread / n for slope, spread, n in parts)
    smallest = sum(aim.quantiles) * sqrt(variance)
    return smallest if smallest <= 1 - harmonic_mean(error, correct) else None
