"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, drawn, save_chart
from misstep.reports._logs import read_log
from misstep.reports._reward_logs import reward_rows
from misstep.reports._sweep import Bin, Figures, RewardRow, Sweep, calibration_error
from misstep.reports._sweep_charts import calibration_records, sweep_charts, sweep_records

__all__ = [
    "Bin",
    "Figures",
    "RewardRow",
    "Sweep",
    "calibration_error",
    "calibration_records",
    "chart_library",
    "drawn",
    "read_log",
    "reward_rows",
    "save_chart",
    "sweep_charts",
    "sweep_records",
]
