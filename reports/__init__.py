"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, drawn, save_chart

__all__ = ["chart_library", "drawn", "save_chart"]
