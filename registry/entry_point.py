"""What Inspect learns of misstep: imported at every start of Inspect, so it stays light."""

from misstep.evals import (
    deltabench,
    deltabench_sections,
    error_recovery,
    guided_search,
    procedural,
    processbench,
)
from misstep.providers import embedded, imported, local_prm, prm, replay
from misstep.scorers import (
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
    "continuation",
    "critique",
    "deltabench",
    "deltabench_sections",
    "embedded",
    "error_recovery",
    "error_sections",
    "error_sections_published",
    "final_answer",
    "first_error",
    "first_error_lenient",
    "guided_search",
    "imported",
    "local_prm",
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
