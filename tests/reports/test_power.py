"""Power against statsmodels, and against runs drawn at random."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import power_proportions_2indep

from misstep.registry import MisstepError
from misstep.reports import (
    Aim,
    groups_of_dataset,
    groups_of_runs,
    paired_power,
    paired_samples,
    smallest_difference,
    smallest_f1_difference,
    smallest_gains,
    unpaired_power,
    unpaired_samples,
)
from misstep.reports._power import EXACT_UP_TO, independent_discordance

AIM = Aim()


@pytest.mark.parametrize(
    ("first", "second", "n"), [(0.6, 0.65, 300), (0.1, 0.2, 100), (0.5, 0.55, 1500), (0.9, 0.8, 60)]
)
def test_unpaired_power_is_statsmodels(first, second, n):
    reference = power_proportions_2indep(second - first, first, n).power
    assert unpaired_power(first, second, n) == pytest.approx(reference, abs=1e-6)


def drawn_power(first, second, discordance, n, random, times=200_000):
    """How often McNemar's exact test sees the difference, in runs drawn at random."""
    gain = second - first
    shares = [(discordance - gain) / 2, (discordance + gain) / 2, 1 - discordance]
    outcomes = random.multinomial(n, shares, size=times)
    fewer, differing = outcomes[:, :2].min(axis=1), outcomes[:, :2].sum(axis=1)
    return float(np.mean(2 * binom.cdf(fewer, differing, 0.5) <= 0.05))


@pytest.mark.parametrize(
    ("first", "second", "discordance", "n"),
    [(0.6, 0.7, 0.3, 200), (0.5, 0.55, 0.1, 400), (0.3, 0.5, 0.5, 40), (0.9, 0.95, 0.06, 150)],
)
def test_paired_power_is_that_of_drawn_runs(first, second, discordance, n):
    random = np.random.default_rng(3)
    drawn = drawn_power(first, second, discordance, n, random)
    # Four standard errors of the simulation.
    assert paired_power(first, second, discordance, n) == pytest.approx(drawn, abs=0.0045)


def test_the_approximation_goes_on_where_the_exact_power_ends():
    exact = paired_power(0.6, 0.62, 0.3, EXACT_UP_TO)
    beyond = paired_power(0.6, 0.62, 0.3, EXACT_UP_TO + 1)
    assert beyond == pytest.approx(exact, abs=0.02)


def test_the_number_of_samples_has_the_power_and_hardly_more():
    for first, second, agree in ((0.6, 0.65, None), (0.6, 0.65, 0.85), (0.2, 0.4, None)):
        share = independent_discordance(first, second) if agree is None else 1 - agree
        n = paired_samples(first, second, AIM, None if agree is None else share)
        assert paired_power(first, second, share, n) >= 0.8
        assert paired_power(first, second, share, n - 1) < 0.8
        single = unpaired_samples(first, second, AIM)
        assert (
            unpaired_power(first, second, single) >= 0.8 > unpaired_power(first, second, single - 1)
        )


def test_agreement_saves_samples():
    assert paired_samples(0.6, 0.65, AIM, 0.15) < paired_samples(0.6, 0.65, AIM) / 2


def test_the_smallest_difference_is_the_one_that_is_just_seen():
    for n, accuracy in ((207, 0.7), (400, 0.5)):
        gain = smallest_difference(accuracy, n, AIM)
        share = independent_discordance(accuracy, accuracy + gain)
        assert paired_power(accuracy, accuracy + gain, share, n) == pytest.approx(0.8, abs=0.01)
        assert smallest_difference(accuracy, 4 * n, AIM) < gain
    assert smallest_difference(0.99, 10, AIM) is None


def test_the_smallest_f1_difference_is_seen_in_drawn_runs():
    """Two runs on their own samples, F1 compared by its standard error."""
    random = np.random.default_rng(5)
    errors, corrects, accuracies = 6000, 6000, (0.5, 0.8)
    gain = smallest_f1_difference(accuracies, (errors, corrects), AIM, paired=False)
    base = 2 * 0.5 * 0.8 / 1.3
    # The second run's error accuracy that gives just that F1.
    better = (base + gain) * 0.8 / (2 * 0.8 - base - gain)

    def f1s(error):
        a = random.binomial(errors, error, 20_000) / errors
        c = random.binomial(corrects, 0.8, 20_000) / corrects
        return 2 * a * c / (a + c)

    first, second = f1s(0.5), f1s(better)
    spread = np.sqrt(first.var() + second.var())
    assert np.mean(np.abs(second - first) / spread > 1.96) == pytest.approx(0.8, abs=0.03)


def test_impossible_runs_are_refused():
    with pytest.raises(MisstepError, match=r"cannot differ on a share of 0\.05"):
        paired_power(0.5, 0.7, 0.05, 100)


def test_a_set_in_clusters_is_worth_fewer_samples():
    samples = [(i % 2 == 0, f"problem {i // 4}") for i in range(400)]
    groups = groups_of_dataset(samples, 0.6, None)
    assert [(g.name, g.samples, g.effective) for g in groups] == [
        ("with an error", 200, 100),
        ("without an error", 200, 100),
        ("all", 400, 100),
    ]
    rows = {row["part"]: row for row in smallest_gains(groups, AIM)}
    assert len(rows) == 8
    assert rows["all, in clusters"]["same_samples"] == smallest_difference(0.6, 100, AIM)
    single = [(has_error, str(i)) for i, (has_error, _) in enumerate(samples)]
    assert len(list(smallest_gains(groups_of_dataset(single, 0.6, None), AIM))) == 4


def test_logs_tell_how_much_a_cluster_has_in_common(runs):
    """Five copies of each sample in one cluster are worth one sample each."""
    copies = [
        replace(sample, id=f"{sample.id}-{i}", cluster=sample.id)
        for sample in runs.strong.samples
        for i in range(5)
    ]
    [*_, whole] = groups_of_runs([replace(runs.strong, samples=copies)], None, None)
    assert whole.samples == 5 * len(runs.strong.samples)
    assert whole.effective == pytest.approx(len(runs.strong.samples), rel=0.1)
    assert [group.effective for group in groups_of_runs([runs.strong], None, None)] == [None] * 3
