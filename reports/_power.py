"""Power: how many samples show a difference, and which difference a set of samples can show.

Runs on different samples are compared by the normal test of two shares. Runs on the same samples
are compared by McNemar's exact test; its power is summed over all outcomes, or approximated for
more than EXACT_UP_TO samples. The discordance is the share of samples that only one run has right.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log, log1p, sqrt
from statistics import NormalDist

import numpy as np

from misstep.registry import MisstepError
from misstep.reports._comparison import compare
from misstep.reports._paired import Array
from misstep.reports._runs import Run
from misstep.reports._text import UNDEFINED, TextTable, percent
from misstep.scorers import Estimate, harmonic_mean, share

ALPHA, POWER = 0.05, 0.8
EXACT_UP_TO = 5_000
_MOST_SAMPLES = 10_000_000
_PRECISION = 1e-4
_NEGLIGIBLE = 1e-9
_Z = NormalDist()


@dataclass(frozen=True)
class Aim:
    """The level of a test, and how often it should report a difference that exists."""

    alpha: float = ALPHA
    power: float = POWER

    @property
    def quantiles(self) -> tuple[float, float]:
        """The standard normal quantiles of alpha (two-sided) and power."""
        return _Z.inv_cdf(1 - self.alpha / 2), _Z.inv_cdf(self.power)


def independent_discordance(first: float, second: float) -> float:
    """The discordance of two accuracies if hits are independent.

    Real runs mostly fail on the same samples. Then fewer samples differ, and a test has more power.
    """
    return first * (1 - second) + second * (1 - first)


def unpaired_power(first: float, second: float, samples: int, alpha: float = ALPHA) -> float:
    """The power of the normal test of two accuracies, each run on its own samples."""
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
    """The power of McNemar's test of two accuracies on the same samples."""
    difference = abs(second - first)
    most = min(first + second, 2 - first - second)
    if not difference - 1e-9 <= discordance <= most + 1e-9:
        raise MisstepError(
            f"Runs with accuracies {first:.3g} and {second:.3g} cannot differ on a share of "
            f"{discordance:.3g} of the samples; the share is between {difference:.3g} and "
            f"{most:.3g}."
        )
    if discordance <= 0:
        return 0.0
    if samples > EXACT_UP_TO:
        critical = _Z.inv_cdf(1 - alpha / 2) * sqrt(discordance)
        spread = sqrt(max(discordance - difference**2, 1e-12))
        return _Z.cdf((difference * sqrt(samples) - critical) / spread)
    differing = _binomial(samples, min(1.0, discordance))
    second_right = min(1.0, (discordance + difference) / (2 * discordance))
    total = 0.0
    for m in np.flatnonzero(differing > _NEGLIGIBLE).tolist():
        if rejected := _rejected_outcomes(m, alpha):
            outcomes = _binomial(m, second_right)
            seen = outcomes[:rejected].sum() + outcomes[m + 1 - rejected :].sum()
            total += float(differing[m] * seen)
    return total


@cache
def _rejected_outcomes(m: int, alpha: float) -> int:
    """How many outcomes on each side of 0 to m heads the exact test of a fair coin rejects."""
    return int((2 * np.cumsum(_binomial(m, 0.5))[: (m + 1) // 2] <= alpha).sum())


def _binomial(n: int, p: float) -> Array:
    """The binomial probabilities of 0 to n."""
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
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, EXACT_UP_TO + 1)))])


def _samples_needed(power_at: Callable[[int], float], aim: Aim) -> int | None:
    """The least number of samples with the wanted power; None if no number has it.

    The power of an exact test is not monotonic: it rises, but with small drops. A binary search
    finds a number that has the power while the number before it does not.
    """
    high = 8
    while power_at(high) < aim.power:
        high *= 2
        if high > _MOST_SAMPLES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= aim.power else (middle, high)
    return high


def unpaired_samples(first: float, second: float, aim: Aim) -> int | None:
    """The number of samples that each of two runs needs, on different samples."""
    return _samples_needed(lambda n: unpaired_power(first, second, n, aim.alpha), aim)


def paired_samples(
    first: float, second: float, aim: Aim, discordance: float | None = None
) -> int | None:
    """The number of samples that two runs on the same samples need; None if no number is enough.

    Hits are taken as independent if the discordance is not given.
    """
    share = independent_discordance(first, second) if discordance is None else discordance
    if share > 0:
        z_alpha, z_power = aim.quantiles
        difference = abs(second - first)
        spread = sqrt(max(share - difference**2, 0.0))
        reach = z_alpha * sqrt(share) + z_power * spread
        if difference and (about := (reach / difference) ** 2) > EXACT_UP_TO:
            return ceil(about)
    return _samples_needed(lambda n: paired_power(first, second, share, n, aim.alpha), aim)


def smallest_difference(
    accuracy: float, samples: int, aim: Aim, discordance: float | None = None, paired: bool = True
) -> float | None:
    """The smallest gain over an accuracy that a number of samples can show; None if none can.

    Hits are taken as independent if the discordance is not given. `paired` means that both runs
    have the same samples.
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
    while high - low > _PRECISION:
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
    """The smallest difference in F1 that samples can show, by the delta method; None if none can.

    Accuracies, samples and discordances are given for samples with an error and without one.
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


@dataclass(frozen=True)
class SampleGroup:
    """A group of samples, the accuracy to improve on, and the discordance if it is known."""

    name: str
    samples: int
    accuracy: float
    discordance: float | None = None
    effective: int | None = None
    """The effective number of independent samples, if clusters change it by more than a tenth."""


_WITH_ERROR, _WITHOUT_ERROR, _ALL = "with an error", "without an error", "all"


def groups_of_dataset(
    samples: Sequence[tuple[bool, str]], accuracy: float | None, discordance: float | None
) -> list[SampleGroup]:
    """The groups of a dataset: samples with an error, without one, and all.

    A sample is given as whether it has an error, and its cluster. Without results it is not known
    how similar the samples of a cluster are. At worst all of them are right or wrong together, and
    the effective number of samples is the number of clusters.
    """
    base = 0.5 if accuracy is None else accuracy
    groups = {
        _WITH_ERROR: [cluster for has_error, cluster in samples if has_error],
        _WITHOUT_ERROR: [cluster for has_error, cluster in samples if not has_error],
    }
    if not all(groups.values()):
        groups = {}
    groups[_ALL] = [cluster for _, cluster in samples]
    return [
        SampleGroup(name, len(own), base, discordance, _if_differing(len(own), len(set(own))))
        for name, own in groups.items()
    ]


def _if_differing(samples: int, effective: float) -> int | None:
    """The effective number of samples if it differs by more than a tenth."""
    return round(effective) if abs(effective / samples - 1) > 0.1 else None


def _effective(samples: int, clustered: Estimate, independent: Estimate) -> int | None:
    """The number of independent samples that have an interval as wide as that of the clusters."""
    width, other = (one.upper - one.lower for one in (clustered, independent))
    if not width > 0 or not other > 0:
        return None
    return _if_differing(samples, samples * (other / width) ** 2)


def groups_of_runs(
    runs: Sequence[Run], accuracy: float | None, discordance: float | None
) -> list[SampleGroup]:
    """The groups of the first run's samples. A second run gives the discordance."""
    contrasts = compare(runs, common=True).contrasts if len(runs) == 2 else []
    seen = {contrast.metric: contrast for contrast in contrasts}
    pairs = list(runs[0].scored_pairs())
    metrics: dict[str, tuple[str, bool | None]] = {_ALL: ("accuracy", None)}
    if runs[0].kind == "first_error":
        metrics = {
            _WITH_ERROR: ("error_accuracy", True),
            _WITHOUT_ERROR: ("correct_accuracy", False),
            **metrics,
        }
    groups = []
    for name, (metric, among) in metrics.items():
        own = [(one.cluster, score.hit) for one, score in pairs if among in (None, one.has_error)]
        if not own:
            continue
        hits, clusters = [hit for _, hit in own], [cluster for cluster, _ in own]
        effective = _effective(len(own), share(hits, clusters), share(hits))
        differing = discordance
        if (contrast := seen.get(metric)) is not None:
            ends = Estimate(contrast.difference, contrast.lower, contrast.upper)
            effective = _effective(contrast.samples, ends, contrast.independent)
            if contrast.only_first is not None and contrast.only_second is not None:
                both = contrast.only_first + contrast.only_second
                differing = both / contrast.samples if discordance is None else discordance
        value = sum(hits) / len(hits) if accuracy is None else accuracy
        groups.append(SampleGroup(name, len(own), value, differing, effective))
    return groups


def needed_samples(
    accuracies: tuple[float, float], aim: Aim, discordance: float | None
) -> Iterator[dict[str, object]]:
    """The number of samples that tell two accuracies apart, one row per design."""
    first, second = accuracies
    if first == second:
        raise MisstepError(f"--accuracies {first} {second}: there is no difference to detect.")
    yield {"design": "different samples, each run", "samples": unpaired_samples(*accuracies, aim)}
    independent = independent_discordance(first, second)
    yield {
        "design": f"the same samples, hits independent ({percent(1 - independent)} agree)",
        "samples": paired_samples(first, second, aim),
    }
    if discordance is not None:
        yield {
            "design": f"the same samples, {percent(1 - discordance)} agree",
            "samples": paired_samples(first, second, aim, discordance),
        }


def smallest_gains(groups: Sequence[SampleGroup], aim: Aim) -> Iterator[dict[str, object]]:
    """The smallest gain that each group of samples can show, one row per group, then F1.

    If clusters change the effective number of samples, more rows say what that number shows.
    """
    yield from _gains(groups, aim, "")
    if any(group.effective for group in groups):
        worth = [replace(group, samples=group.effective or group.samples) for group in groups]
        yield from _gains(worth, aim, ", in clusters")


def _gains(groups: Sequence[SampleGroup], aim: Aim, suffix: str) -> Iterator[dict[str, object]]:
    for group in groups:
        known = (group.accuracy, group.samples, aim)
        yield {
            "part": group.name + suffix,
            "samples": group.samples,
            "accuracy": group.accuracy,
            "different_samples": smallest_difference(*known, paired=False),
            "same_samples": smallest_difference(*known),
            "same_samples_as_seen": None
            if group.discordance is None
            else smallest_difference(*known, group.discordance),
        }
    if len(groups) == 3:
        error, correct, whole = groups
        accuracies = (error.accuracy, correct.accuracy)
        both = (accuracies, (error.samples, correct.samples), aim)
        yield {
            "part": f"F1{suffix}",
            "samples": whole.samples,
            "accuracy": harmonic_mean(*accuracies),
            "different_samples": smallest_f1_difference(*both, paired=False),
            "same_samples": smallest_f1_difference(*both),
            "same_samples_as_seen": None
            if error.discordance is None or correct.discordance is None
            else smallest_f1_difference(*both, (error.discordance, correct.discordance)),
        }


_HEADINGS = {
    "different_samples": "unpaired",
    "same_samples": "paired",
    "same_samples_as_seen": "paired, as seen",
}
"""Columns whose names are too long for 80 columns."""


def power_table(title: str, rows: Sequence[dict[str, object]]) -> TextTable:
    """Rows of `needed_samples` or `smallest_gains` as a table, without empty columns."""
    kept = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    cells = [[_cell(row[name]) for name in kept] for row in rows]
    return TextTable([_HEADINGS.get(name, name) for name in kept], cells, title)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return percent(value)
    return UNDEFINED if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def power_method(aim: Aim) -> str:
    """How the numbers were computed."""
    return (
        f"Two-sided tests at level {aim.alpha:g} with power {aim.power:g}. Unpaired (different "
        "samples): the normal test of two shares. Paired (the same samples): McNemar's exact test, "
        "its power summed over all outcomes (approximated for more than "
        f"{EXACT_UP_TO:,} samples). F1: the delta method. Hits are taken as independent unless "
        "the agreement is given or seen in two logs. Real runs mostly agree more and then show "
        "smaller differences. Rows 'in clusters' count how many independent samples the set is "
        "worth: with logs as measured, else at worst one for each cluster."
    )
