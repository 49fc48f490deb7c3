"""From results to tables, plots and comparisons."""

from misstep.reports._best_of_n import (
    Accuracy,
    Draws,
    JudgedSolutions,
    best_of_n,
    best_of_n_chart,
    best_of_n_records,
    differing,
    judge_solutions,
)
from misstep.reports._breakdowns import (
    accuracy_by,
    confusion,
    findings,
    groupings,
    votes_curve,
)
from misstep.reports._charts import chart_library, drawn, save_chart
from misstep.reports._compare import Comparison, Contrast, compare
from misstep.reports._estimate import RunEstimate, estimate
from misstep.reports._eval_estimate import comparable_runs, estimate_eval, estimate_notes
from misstep.reports._first_error_files import (
    FirstErrorResults,
    deltabench_files,
    json_file,
    processbench_files,
    read_first_error_results,
)
from misstep.reports._forge_charts import step_counts_chart
from misstep.reports._forge_page import forge_report_page
from misstep.reports._forge_report import MAX_EXAMPLES as FORGE_REPORT_EXAMPLES
from misstep.reports._forge_report import (
    ForgeReport,
    forge_report_markdown,
    read_forge_report,
)
from misstep.reports._frames import runs_frame, samples_frame
from misstep.reports._imports import ImportedLog, import_files
from misstep.reports._leaderboard import Benchmark, benchmarks, leaderboard
from misstep.reports._logs import read_log
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
from misstep.reports._recovery import By, Rate, recovery_chart, recovery_rates
from misstep.reports._reference import (
    ReferenceRun,
    planned_runs,
    reference_page,
    run_reference,
)
from misstep.reports._report import Report, build_report
from misstep.reports._reward_logs import reward_rows
from misstep.reports._rewards import budget, calibration, recovery_frame
from misstep.reports._runs import Logs, Run, Skipped, read_logs, read_run
from misstep.reports._samples import Finding, Judged, judged_samples
from misstep.reports._search_files import SearchResults, read_search_results
from misstep.reports._study_page import FOLDER as STUDY_FOLDER
from misstep.reports._study_page import Judgements, Study, study_of
from misstep.reports._study_runs import study_runs
from misstep.reports._subsets import expected_best, expected_majority, expected_oracle
from misstep.reports._tasks import eval_sizes, load_task, size_of
from misstep.reports._threshold_charts import (
    calibration_records,
    threshold_charts,
    threshold_records,
)
from misstep.reports._threshold_curve import (
    Bin,
    Figures,
    RewardRow,
    ThresholdCurve,
    calibration_error,
)
from misstep.reports._written import csv_text, dollars, file_name, json_lines, json_text

__all__ = [
    "FORGE_REPORT_EXAMPLES",
    "RESAMPLES",
    "STUDY_FOLDER",
    "Accuracy",
    "Aim",
    "Benchmark",
    "Bin",
    "By",
    "Comparison",
    "Contrast",
    "Draws",
    "Figures",
    "Finding",
    "FirstErrorResults",
    "ForgeReport",
    "ImportedLog",
    "Judged",
    "JudgedSolutions",
    "Judgements",
    "Logs",
    "Rate",
    "ReferenceRun",
    "Report",
    "RewardRow",
    "Run",
    "RunEstimate",
    "SearchResults",
    "Skipped",
    "Study",
    "ThresholdCurve",
    "accuracy_by",
    "benchmarks",
    "best_of_n",
    "best_of_n_chart",
    "best_of_n_records",
    "budget",
    "build_report",
    "calibration",
    "calibration_error",
    "calibration_records",
    "chart_library",
    "comparable_runs",
    "compare",
    "confusion",
    "csv_text",
    "deltabench_files",
    "differing",
    "dollars",
    "drawn",
    "estimate",
    "estimate_eval",
    "estimate_notes",
    "eval_sizes",
    "expected_best",
    "expected_majority",
    "expected_oracle",
    "file_name",
    "findings",
    "forge_report_markdown",
    "forge_report_page",
    "groupings",
    "import_files",
    "json_file",
    "json_lines",
    "json_text",
    "judge_solutions",
    "judged_samples",
    "leaderboard",
    "load_task",
    "paired_power",
    "paired_samples",
    "planned_runs",
    "processbench_files",
    "read_first_error_results",
    "read_forge_report",
    "read_log",
    "read_logs",
    "read_run",
    "read_search_results",
    "recovery_chart",
    "recovery_frame",
    "recovery_rates",
    "reference_page",
    "report_page",
    "reward_rows",
    "run_reference",
    "runs_frame",
    "samples_frame",
    "save_chart",
    "size_of",
    "smallest_difference",
    "smallest_f1_difference",
    "step_counts_chart",
    "study_of",
    "study_runs",
    "threshold_charts",
    "threshold_records",
    "unpaired_power",
    "unpaired_samples",
    "votes_curve",
]
