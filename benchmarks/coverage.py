"""How often intervals contain the true value: `python -m benchmarks.coverage` writes the docs page.

Independent samples are counted exactly: every possible pair of counts, weighted by its probability.
Clusters and epochs are simulated with a fixed seed.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations, product
from math import exp, lgamma, log, sqrt
from pathlib import Path
from random import Random

from scipy.special import betaincinv, ndtr

from misstep.scorers import Estimate, f1_estimate, harmonic_mean, share
from misstep.scorers._intervals import _f1_interval, _Sample

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
SIZES = (20, 100, 400, 1000)
ACCURACIES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)
SIMULATED = (0.03, 0.3, 0.7, 0.97)
DESIGNS = (
    ("100 clusters of 2, correlation 0.3", 100, 2, 0.3, False),
    ("100 clusters of 5, correlation 0.3", 100, 5, 0.3, False),
    ("20 clusters of 5, correlation 0.3", 20, 5, 0.3, False),
    ("100 samples, 2 epochs, correlation 0.5", 100, 2, 0.5, True),
    ("100 samples, 8 epochs, correlation 0", 100, 8, 0.0, True),
    ("20 samples, 8 epochs, correlation 0.3", 20, 8, 0.3, True),
)
"""A name, the clusters (or samples) of each set, their sizes (or epochs), the correlation inside
them, and whether the hits of a cluster are reduced to their mean."""
TRIALS = 1000
NEGLIGIBLE = 1e-8
"""Counts of a smaller probability are left out."""
AIM = (0.93, 0.97)
_SAME = 0.002
"""Coverages that differ by less count as the same."""


class _Jeffreys(_Sample):
    """Bounds from the posterior of a share with Jeffreys' prior."""

    def bound(self, z: float) -> float:
        hits = self.share * self.size
        return float(betaincinv(hits + 0.5, self.size - hits + 0.5, ndtr(z)))


class _ClopperPearson(_Sample):
    """Bounds that hold the share at least as often as they say."""

    def bound(self, z: float) -> float:
        hits, side = self.share * self.size, z > 0
        if hits == (self.size if side else 0):
            return float(side)
        return float(betaincinv(hits + side, self.size - hits + 1 - side, ndtr(z)))


class _AgrestiCoull(_Sample):
    """Bounds of Wald after four more samples, half of them hits."""

    def bound(self, z: float) -> float:
        size = self.size + self.critical**2
        share = (self.share * self.size + self.critical**2 / 2) / size
        return min(1.0, max(0.0, share + z * sqrt(share * (1 - share) / size)))


METHODS: dict[str, type[_Sample]] = {
    "Wilson (used)": _Sample,
    "Jeffreys": _Jeffreys,
    "Clopper-Pearson": _ClopperPearson,
    "Agresti-Coull": _AgrestiCoull,
}
COMPARED = (20, 100)


def f1_coverage(n: int, error: float, correct: float, method: type[_Sample] = _Sample) -> float:
    """Return the probability that F1's interval contains the true F1."""
    truth, found = harmonic_mean(error, correct), 0.0
    for (a, p), (b, q) in product(_counts(n, error), _counts(n, correct)):
        estimate = _f1_of_counts(min(a, b), max(a, b), n, method)
        found += p * q * (estimate.lower <= truth <= estimate.upper)
    return found


def f1_misses(n: int, error: float, correct: float) -> tuple[float, float]:
    """Return how probable it is that F1's interval ends below the true F1, and begins above it."""
    truth, below, above = harmonic_mean(error, correct), 0.0, 0.0
    for (a, p), (b, q) in product(_counts(n, error), _counts(n, correct)):
        estimate = _f1_of_counts(min(a, b), max(a, b), n, _Sample)
        below += p * q * (estimate.upper < truth)
        above += p * q * (estimate.lower > truth)
    return below, above


def nearest_coverage(n: int, accuracy: float) -> float:
    """Return the coverage nearest to 95% that any interval of an accuracy can have.

    The interval holds the accuracy for some counts of hits. They are consecutive, because the ends
    of an interval grow with the count.
    """
    chances = [probability for _, probability in _counts(n, accuracy)]
    sums = [0.0, *accumulate(chances)]
    reachable = (high - low for low, high in combinations(sums, 2))
    return min(reachable, key=lambda coverage: abs(coverage - 0.95))


def share_coverage(n: int, accuracy: float) -> float:
    """Return the probability that the interval of an accuracy contains the true accuracy."""
    found = 0.0
    for count, probability in _counts(n, accuracy):
        known = _Sample(count / n, n)
        found += probability * (
            known.bound(-known.critical) <= accuracy <= known.bound(known.critical)
        )
    return found


@cache
def _f1_of_counts(a: int, b: int, n: int, method: type[_Sample]) -> Estimate:
    return _f1_interval(method(a / n, n), method(b / n, n))


@cache
def _counts(n: int, p: float) -> list[tuple[int, float]]:
    """Return the numbers of hits among n samples with their probabilities."""
    logs = [
        lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p)
        for k in range(n + 1)
    ]
    return [(k, exp(x)) for k, x in enumerate(logs) if exp(x) > NEGLIGIBLE]


def simulated_coverage(
    clusters: int, size: int, correlation: float, reduced: bool, error: float, correct: float
) -> tuple[float, float]:
    """Return how often the intervals of error accuracy and F1 contain the true values."""
    random = Random(f"{clusters} {size} {correlation} {reduced} {error} {correct}")
    of_share = of_f1 = 0
    truth = harmonic_mean(error, correct)
    names = list(range(clusters)) if reduced else [c for c in range(clusters) for _ in range(size)]
    for _ in range(TRIALS):
        errors, corrects = (
            _hits(random, clusters, size, correlation, reduced, p) for p in (error, correct)
        )
        accuracy = share(errors, names)
        # Clusters of the two sets are different ones.
        f1 = f1_estimate(errors, corrects, names, [-1 - name for name in names])
        of_share += accuracy.lower <= error <= accuracy.upper
        of_f1 += f1.lower <= truth <= f1.upper
    return of_share / TRIALS, of_f1 / TRIALS


def _hits(
    random: Random, clusters: int, size: int, correlation: float, reduced: bool, p: float
) -> list[float]:
    """Return hits whose clusters have accuracies of their own, from a beta distribution."""
    hits: list[float] = []
    for _ in range(clusters):
        own = p
        if correlation:
            scale = (1 - correlation) / correlation
            own = random.betavariate(p * scale, (1 - p) * scale)
        members = [float(random.random() < own) for _ in range(size)]
        hits += [sum(members) / size] if reduced else members
    return hits


def page() -> Iterator[str]:
    """Yield the lines of the docs page."""
    yield from (
        "# Coverage of intervals",
        "",
        "How often a 95% interval contains the true value. The aim is 93 to 97%. With few samples",
        "and accuracies near 0 or 1, no interval can be that exact, because hits are whole",
        "numbers.",
        "`python -m benchmarks.coverage` writes this page.",
        "",
        "## F1",
        "",
        "The interval of F1 extends Wilson's: it holds the F1 of all pairs of accuracies that lie,",
        "together, at most 1.96 standard errors from the measured pair. The tables are exact: they",
        "sum over all possible counts. Rows are the true error accuracy, columns the true correct",
        "accuracy, with n samples of each kind. The other half of each table is the same.",
    )
    summary: list[Sequence[str]] = []
    for n in SIZES:
        cells = {(a, b): f1_coverage(n, a, b) for a, b in _cells()}
        summary.append([str(n), *_summary(list(cells.values()))])
        yield from ("", f"n = {n} + {n}", "")
        yield from _table(
            ["", *map(str, ACCURACIES)],
            [
                [str(a), *(_percent(cells[a, b]) if b <= a else "" for b in ACCURACIES)]
                for a in ACCURACIES
            ],
        )
    yield from ("", "In short:", "")
    yield from _table(["n", *SUMMARY], summary)
    yield from (
        "",
        "### What is possible",
        "",
        "Hits are whole numbers, so coverage moves in jumps. This table has, for one accuracy, the",
        "coverage nearest to 95% that any interval can have. Outside of 93 to 97% (in bold), no",
        "interval reaches the aim. The same holds for F1 if the other accuracy is much larger: F1",
        "is then almost a function of the smaller one.",
        "",
    )
    yield from _table(
        ["n", *map(str, ACCURACIES)],
        [[str(n), *(_marked(nearest_coverage(n, p)) for p in ACCURACIES)] for n in SIZES],
    )
    yield from (
        "",
        "These are all cells of F1 that miss the aim. In some of them the coverage is the nearest",
        "possible one of the smaller accuracy. In the others both accuracies are small. Then the",
        "measured F1 is often 0, and its interval begins at 0, so it almost never ends below the",
        "true F1. An interval that leaves out 2.5% at each end covers about 97.5% or more there.",
        "",
    )
    yield from _table(
        ["n", "accuracies", "coverage", "ends below", "begins above", "reason"],
        [row for n in SIZES for row in _missed_cells(n)],
    )
    yield from (
        "",
        "### Other intervals",
        "",
        "The same interval of F1 with the bounds of other intervals of a share. Wilson's reach the",
        "aim in the most cells.",
        "",
    )
    yield from _table(
        ["n", "bounds", *SUMMARY],
        [
            [str(n), name, *_summary([f1_coverage(n, a, b, method) for a, b in _cells()])]
            for n in COMPARED
            for name, method in METHODS.items()
        ],
    )
    yield from ("", "## Accuracies", "", "Wilson's interval, exact, by the true accuracy.", "")
    yield from _table(
        ["n", *map(str, ACCURACIES)],
        [[str(n), *(_percent(share_coverage(n, p)) for p in ACCURACIES)] for n in SIZES],
    )
    yield from (
        "",
        "## Clusters and epochs",
        "",
        "Rows of one problem, and epochs of one sample, are not independent. Their intervals use",
        "the effective number of samples (Korn and Graubard), and Student's distribution for the",
        "number of clusters. If all hits are equal, then each cluster counts once. Epochs are",
        f"reduced to the mean of each sample. Simulated: {TRIALS:,} data sets for each cell, with",
        "a fixed seed. Every cell has the coverage of the error accuracy, then that of F1.",
        "",
    )
    pairs = [(a, b) for a in SIMULATED for b in SIMULATED if b <= a]
    yield from _table(
        ["error, correct accuracy", *(f"{a}, {b}" for a, b in pairs)],
        [
            [
                name,
                *(" · ".join(map(_percent, simulated_coverage(*design, a, b))) for a, b in pairs),
            ]
            for name, *design in DESIGNS
        ],
    )


SUMMARY = ("least", "mean", "most", "under 93%", "over 97%")


def _cells() -> list[tuple[float, float]]:
    return [(a, b) for a in ACCURACIES for b in ACCURACIES if b <= a]


def _missed_cells(n: int) -> Iterator[list[str]]:
    """Yield a row for each cell of F1 that misses the aim, with the reason."""
    for larger, smaller in _cells():
        coverage = f1_coverage(n, larger, smaller)
        if AIM[0] <= coverage <= AIM[1]:
            continue
        possible = nearest_coverage(n, smaller)
        reason = "it almost never ends below"
        if abs(coverage - possible) < _SAME:
            reason = f"the nearest possible one of {smaller}"
        numbers = map(_percent, (coverage, *f1_misses(n, larger, smaller)))
        yield [str(n), f"{smaller}, {larger}", *numbers, reason]


def _summary(values: Sequence[float]) -> list[str]:
    low, high = sum(value < AIM[0] for value in values), sum(value > AIM[1] for value in values)
    shares = (min(values), sum(values) / len(values), max(values))
    return [*map(_percent, shares), *(f"{count} of {len(values)}" for count in (low, high))]


def _marked(value: float) -> str:
    return _percent(value) if AIM[0] <= value <= AIM[1] else f"**{_percent(value)}**"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    path = parser.parse_args().output
    path.write_text("\n".join(page()) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
