"""What Inspect learns of misstep: imported at every start of Inspect, so it stays light."""

from misstep.evals import (
    adversarial_numinamath,
    deltabench,
    deltabench_sections,
    error_recovery,
    guided_search,
    procedural,
    processbench,
)
from misstep.forge import injection, offline
from misstep.providers import embedded, imported, lean, replay
from misstep.rewards import local_prm, prm
from misstep.scorers import (
    detections,
    error_sections,
    error_sections_published,
    final_answer,
    first_error,
    first_error_lenient,
    recovery,
    recovery_lenient,
    vote,
)
from misstep.solvers import continuation, critique, recorded, reward, sections_critique, stepwise

__all__ = [
    "adversarial_numinamath",
    "continuation",
    "critique",
    "deltabench",
    "deltabench_sections",
    "detections",
    "embedded",
    "error_recovery",
    "error_sections",
    "error_sections_published",
    "final_answer",
    "first_error",
    "first_error_lenient",
    "guided_search",
    "imported",
    "injection",
    "lean",
    "local_prm",
    "offline",
    "prm",
    "procedural",
    "processbench",
    "recorded",
    "recovery",
    "recovery_lenient",
    "replay",
    "reward",
    "sections_critique",
    "stepwise",
    "vote",
]
