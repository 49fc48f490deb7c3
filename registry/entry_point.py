"""What Inspect learns of misstep: imported at every start of Inspect, so it stays light."""

from misstep.evals import (
    deltabench,
    deltabench_sections,
    error_recovery,
    procedural,
    processbench,
)
from misstep.providers import embedded, imported, replay
from misstep.scorers import (
    error_sections,
    error_sections_published,
    first_error,
    first_error_lenient,
    recovery,
    recovery_lenient,
    vote,
)
from misstep.solvers import continuation, critique, recorded, sections_critique, stepwise

__all__ = [
    "continuation",
    "critique",
    "deltabench",
    "deltabench_sections",
    "embedded",
    "error_recovery",
    "error_sections",
    "error_sections_published",
    "first_error",
    "first_error_lenient",
    "imported",
    "procedural",
    "processbench",
    "recorded",
    "recovery",
    "recovery_lenient",
    "replay",
    "sections_critique",
    "stepwise",
    "vote",
]
