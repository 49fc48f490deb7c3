"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, save_chart
from misstep.reports._recovery import By, Rate, recovery_chart, recovery_rates
from misstep.reports._samples import Finding, Judged, judged_samples
from misstep.reports._study_page import FOLDER as STUDY_FOLDER
from misstep.reports._study_page import Judgements, Study, study_of

__all__ = [
    "STUDY_FOLDER",
    "By",
    "Finding",
    "Judged",
    "Judgements",
    "Rate",
    "Study",
    "chart_library",
    "judged_samples",
    "recovery_chart",
    "recovery_rates",
    "save_chart",
    "study_of",
]
