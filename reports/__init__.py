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
from misstep.reports._charts import chart_library, drawn, save_chart
from misstep.reports._logs import read_log
from misstep.reports._recovery import By, Rate, recovery_chart, recovery_rates
from misstep.reports._reward_logs import reward_rows
from misstep.reports._samples import Finding, Judged, judged_samples
from misstep.reports._study_page import FOLDER as STUDY_FOLDER
from misstep.reports._study_page import Judgements, Study, study_of
from misstep.reports._subsets import expected_best, expected_majority, expected_oracle
from misstep.reports._sweep import Bin, Figures, RewardRow, Sweep, calibration_error
from misstep.reports._sweep_charts import calibration_records, sweep_charts, sweep_records

__all__ = [
    "STUDY_FOLDER",
    "Accuracy",
    "Bin",
    "By",
    "Draws",
    "Figures",
    "Finding",
    "Judged",
    "JudgedSolutions",
    "Judgements",
    "Rate",
    "RewardRow",
    "Study",
    "Sweep",
    "best_of_n",
    "best_of_n_chart",
    "best_of_n_records",
    "calibration_error",
    "calibration_records",
    "chart_library",
    "differing",
    "drawn",
    "expected_best",
    "expected_majority",
    "expected_oracle",
    "judge_solutions",
    "judged_samples",
    "read_log",
    "recovery_chart",
    "recovery_rates",
    "reward_rows",
    "save_chart",
    "study_of",
    "sweep_charts",
    "sweep_records",
]
