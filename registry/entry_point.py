"""What Inspect learns of misstep: imported at every start of Inspect, so it stays light."""

from misstep.evals import (
    adversarial_numinamath,
    deltabench,
    deltabench_sections,
    procedural,
    processbench,
)
from misstep.forge import injection, offline
from misstep.providers import embedded, imported, replay
from misstep.scorers import (
    detections,
    error_sections,
    error_sections_published,
    first_error,
    first_error_lenient,
    vote,
)
from misstep.solvers import critique, recorded, sections_critique, stepwise

__all__ = [
    "adversarial_numinamath",
    "critique",
    "deltabench",
    "deltabench_sections",
    "detections",
    "embedded",
    "error_sections",
    "error_sections_published",
    "first_error",
    "first_error_lenient",
    "imported",
    "injection",
    "offline",
    "procedural",
    "processbench",
    "recorded",
    "replay",
    "sections_critique",
    "stepwise",
    "vote",
]
