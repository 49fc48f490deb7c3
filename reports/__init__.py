"""From results to tables, plots and comparisons."""

from misstep.reports._breakdowns import (
    accuracy_by,
    budget,
    calibration,
    confusion,
    groupings,
    outcomes,
    rates_by_task,
    votes_curve,
)
from misstep.reports._charts import chart_library, save_chart
from misstep.reports._compare import Comparison, Contrast, compare
from misstep.reports._estimate import Estimate, estimate
from misstep.reports._frames import runs_frame, samples_frame
from misstep.reports._leaderboard import Benchmark, benchmarks, leaderboard
from misstep.reports._logs import Logs, Run, Skipped, read_logs, read_run
from misstep.reports._page import report_page
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
from misstep.reports._report import Report, build_report

__all__ = [
    "RESAMPLES",
    "Aim",
    "Benchmark",
    "Comparison",
    "Contrast",
    "Estimate",
    "Logs",
    "Report",
    "Run",
    "Skipped",
    "accuracy_by",
    "benchmarks",
    "budget",
    "build_report",
    "calibration",
    "chart_library",
    "compare",
    "confusion",
    "estimate",
    "groupings",
    "leaderboard",
    "outcomes",
    "paired_power",
    "paired_samples",
    "rates_by_task",
    "read_logs",
    "read_run",
    "report_page",
    "runs_frame",
    "samples_frame",
    "save_chart",
    "smallest_difference",
    "smallest_f1_difference",
    "unpaired_power",
    "unpaired_samples",
    "votes_curve",
]
