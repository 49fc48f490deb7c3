"""What Inspect learns of misstep: imported at every start of Inspect, so it stays light."""

from misstep.evals import procedural, processbench
from misstep.providers import embedded, imported, replay
from misstep.scorers import first_error, first_error_lenient, vote
from misstep.solvers import critique, recorded, stepwise

__all__ = [
    "critique",
    "embedded",
    "first_error",
    "first_error_lenient",
    "imported",
    "procedural",
    "processbench",
    "recorded",
    "replay",
    "stepwise",
    "vote",
]
