"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, save_chart
from misstep.reports._compare import Comparison, Contrast, compare
from misstep.reports._estimate import Estimate, estimate
from misstep.reports._logs import Logs, Run, Skipped, read_logs, read_run
from misstep.reports._paired import RESAMPLES
from misstep.reports._power import (
    Aim,
    paired_power,
    paired_samples,
    smallest_difference,
    smallest_f1_difference,
    unpaired_power,
    unpaired_samples,
)

__all__ = [
    "RESAMPLES",
    "Aim",
    "Comparison",
    "Contrast",
    "Estimate",
    "Logs",
    "Run",
    "Skipped",
    "chart_library",
    "compare",
    "estimate",
    "paired_power",
    "paired_samples",
    "read_logs",
    "read_run",
    "save_chart",
    "smallest_difference",
    "smallest_f1_difference",
    "unpaired_power",
    "unpaired_samples",
]
