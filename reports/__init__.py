"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, save_chart
from misstep.reports._recovery import By, Rate, recovery_chart, recovery_rates

__all__ = [
    "By",
    "Rate",
    "chart_library",
    "recovery_chart",
    "recovery_rates",
    "save_chart",
]
