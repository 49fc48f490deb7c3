"""From logs to tables, charts, tests and pages."""

from misstep.reports._benchmarks import Benchmark, benchmarks
from misstep.reports._best_of_n import (
    Draws,
    best_of_n,
    best_of_n_chart,
    best_of_n_notes,
    best_of_n_records,
    best_of_n_tables,
    judge_solutions,
    label_conflicts,
)
from misstep.reports._bias import labelled_steps, reward_by, skill_left, step_features
from misstep.reports._board import board_page
from misstep.reports._breakdowns import (
    accuracy_by,
    budget,
    calibration,
    confusion,
    findings,
    grouping_name,
    groupings,
    votes_curve,
)
from misstep.reports._calibration import (
    ability_on,
    calibrate,
    critic_records,
    rank_agreement,
    responses_of,
    row_records,
    short_set,
)
from misstep.reports._charts import chart_bytes, chart_library, save_chart
from misstep.reports._checkpoints import checkpoints, read_tag
from misstep.reports._comparison import Comparison, compare
from misstep.reports._comparison_text import (
    comparison_json,
    comparison_markdown,
    comparison_method,
    comparison_notes,
    contrast_tables,
    differing_table,
    run_lines,
)
from misstep.reports._demo import Demo, run_demo
from misstep.reports._estimate import (
    RunEstimate,
    comparable_runs,
    estimate,
    estimate_eval,
    estimate_notes,
    measured_completion,
)
from misstep.reports._exports import EXPORT_FORMATS, export_log
from misstep.reports._find import (
    FoundStep,
    check_model,
    find_estimate,
    find_folder,
    find_page,
    find_task,
    found_steps,
    left_out_lines,
    run_find,
    trust_lines,
)
from misstep.reports._forge_report import (
    MAX_EXAMPLES as FORGE_REPORT_EXAMPLES,
    forge_report_markdown,
    forge_report_page,
    read_forge_report,
    run_critic,
    step_counts_chart,
)
from misstep.reports._frames import metrics_frame, runs_frame, samples_frame
from misstep.reports._imports import ImportedLog, import_files
from misstep.reports._latex import latex_files
from misstep.reports._leaderboard import leaderboard, metric_name
from misstep.reports._paired import RESAMPLES
from misstep.reports._power import (
    ALPHA,
    POWER,
    Aim,
    SampleGroup,
    groups_of_dataset,
    groups_of_runs,
    needed_samples,
    paired_power,
    paired_samples,
    power_method,
    power_table,
    smallest_difference,
    smallest_f1_difference,
    smallest_gains,
    unpaired_power,
    unpaired_samples,
)
from misstep.reports._read_runs import Logs, read_logs, read_run, result_metrics
from misstep.reports._records import import_records, recorded_runs
from misstep.reports._recovery import (
    RecoveryGrouping,
    recovery_chart,
    recovery_frame,
    recovery_rates,
)
from misstep.reports._reference import EMBEDDED, planned_runs, run_planned
from misstep.reports._report import VIEWER, build_report, figure_files, load_libraries, report_page
from misstep.reports._result_checks import check_results, read_results
from misstep.reports._results_page import results_files
from misstep.reports._review import (
    ADJUDICATOR,
    Agreement,
    Decision,
    DecisionFile,
    ReviewItem,
    agreements,
    cohen_kappa,
    default_review_file,
    review_counts,
    review_items,
    review_lines,
)
from misstep.reports._review_server import ReviewServer
from misstep.reports._runs import Run
from misstep.reports._show import MetricValue, RunSummary, summary_of_run
from misstep.reports._step_scores import RewardRow, StepScores
from misstep.reports._study_page import STUDY_FOLDER, build_study, study_runs
from misstep.reports._submissions import submission
from misstep.reports._tasks import eval_sizes, load_task
from misstep.reports._text import (
    UNDEFINED,
    TextTable,
    csv_text,
    dollars,
    file_name,
    json_text,
    one_line,
    p_text,
    percent,
    some_ids,
    with_interval,
)
from misstep.reports._threshold_charts import (
    calibration_records,
    threshold_charts,
    threshold_records,
)
from misstep.reports._thresholds import (
    CROSS_VALIDATION,
    ThresholdCurve,
    TunedThreshold,
    reward_rows,
    threshold_method,
    tune_threshold,
)
