"""From results to tables, plots and comparisons."""

from misstep.reports._charts import chart_library, save_chart
from misstep.reports._samples import Finding, Judged, judged_samples
from misstep.reports._study_page import FOLDER as STUDY_FOLDER
from misstep.reports._study_page import Judgements, Study, study_of

__all__ = [
    "STUDY_FOLDER",
    "Finding",
    "Judged",
    "Judgements",
    "Study",
    "chart_library",
    "judged_samples",
    "save_chart",
    "study_of",
]
