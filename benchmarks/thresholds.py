"""Sweeping the threshold of rewards over all of ProcessBench."""

from collections.abc import Iterator
from random import Random

from benchmarks._measurement import Measurement, quickest
from benchmarks._rows import FULL
from misstep.reports import RewardRow, ThresholdCurve

TARGET = 0.2


def measure() -> Iterator[Measurement]:
    """The seconds for all thresholds: accuracies, F1, precision, recall and calibration."""
    random = Random(0)
    rows = []
    for i in range(FULL):
        rewards = [random.random() for _ in range(random.randint(2, 12))]
        rows.append(RewardRow(str(i), "s", random.randrange(-1, len(rewards)), rewards))

    def curve() -> None:
        swept = ThresholdCurve(rows)
        swept.best()
        swept.precision_and_recall()
        swept.calibration()

    note = f"{FULL:,} samples, 101 thresholds, with precision, recall and calibration"
    yield Measurement("sweeping the threshold", quickest(curve), "s", TARGET, note)
