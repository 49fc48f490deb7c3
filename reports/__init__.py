"""From results to tables, plots and comparisons."""

from misstep.reports._best_of_n import (
    Accuracy,
    Draws,
    Judged,
    best_of_n,
    best_of_n_chart,
    best_of_n_records,
    differing,
    judge_solutions,
)
from misstep.reports._charts import chart_library, drawn, save_chart
from misstep.reports._logs import read_log
from misstep.reports._reward_logs import reward_rows
from misstep.reports._subsets import expected_best, expected_majority, expected_oracle
from misstep.reports._sweep import Bin, Figures, RewardRow, Sweep, calibration_error
from misstep.reports._sweep_charts import calibration_records, sweep_charts, sweep_records

__all__ = [
    "Accuracy",
    "Bin",
    "Draws",
    "Figures",
    "Judged",
    "RewardRow",
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
    "read_log",
    "reward_rows",
    "save_chart",
    "sweep_charts",
    "sweep_records",
]
