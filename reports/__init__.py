"""From logs to tables, charts, tests and pages."""

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
from misstep.reports._board import board_page, check_results, read_results, submission
from misstep.reports._breakdowns import (
    RecoveryGrouping,
    accuracy_by,
    budget,
    calibration,
    confusion,
    findings,
    grouping_name,
    groupings,
    recovery_chart,
    recovery_frame,
    recovery_rates,
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
from misstep.reports._reference import (
    EMBEDDED,
    Demo,
    import_records,
    planned_runs,
    reference_runs,
    run_demo,
    run_planned,
)
from misstep.reports._report import VIEWER, build_report, figure_files, load_libraries, report_page
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
from misstep.reports._run_groups import Benchmark, benchmarks, checkpoints, read_tag
from misstep.reports._runs import Run, metrics_frame, runs_frame, samples_frame
from misstep.reports._show import MetricValue, RunSummary, summary_of_run
from misstep.reports._step_rewards import (
    RewardRow,
    StepScores,
    labelled_steps,
    reward_by,
    reward_rows,
    skill_left,
    step_features,
)
from misstep.reports._study_page import STUDY_FOLDER, build_study, study_runs
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
from misstep.reports._thresholds import (
    CROSS_VALIDATION,
    ThresholdCurve,
    TunedThreshold,
    calibration_records,
    threshold_charts,
    threshold_method,
    threshold_records,
    tune_threshold,
)
