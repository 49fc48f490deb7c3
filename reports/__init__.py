"""From results to tables, plots and comparisons."""

from misstep.reports._breakdowns import (
    accuracy_by,
    confusion,
    findings,
    groupings,
    votes_curve,
)
from misstep.reports._charts import chart_library, save_chart
from misstep.reports._compare import Comparison, Contrast, compare
from misstep.reports._estimate import RunEstimate, estimate
from misstep.reports._frames import runs_frame, samples_frame
from misstep.reports._leaderboard import Benchmark, benchmarks, leaderboard
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
from misstep.reports._rewards import budget, calibration, rates_by_task
from misstep.reports._runs import Logs, Run, Skipped, read_logs, read_run
from misstep.reports._samples import Finding, Judged, judged_samples
from misstep.reports._study_page import FOLDER as STUDY_FOLDER
from misstep.reports._study_page import Judgements, Study, study_of

__all__ = [
    "RESAMPLES",
    "STUDY_FOLDER",
    "Aim",
    "Benchmark",
    "Comparison",
    "Contrast",
    "Finding",
    "Judged",
    "Judgements",
    "Logs",
    "Report",
    "Run",
    "RunEstimate",
    "Skipped",
    "Study",
    "accuracy_by",
    "benchmarks",
    "budget",
    "build_report",
    "calibration",
    "chart_library",
    "compare",
    "confusion",
    "estimate",
    "findings",
    "groupings",
    "judged_samples",
    "leaderboard",
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
    "study_of",
    "unpaired_power",
    "unpaired_samples",
    "votes_curve",
]
