"""Building sets of worked solutions with an injected error: split, inject, check, write."""

from misstep.forge._analysis import Analysis, Group, analyse, steps_chart
from misstep.forge._audit import Audit, audit
from misstep.forge._checks import AUTOMATIC, Check, Failure, check_example, late_start
from misstep.forge._compared import compared, compared_aside
from misstep.forge._record import LATE_FRACTION, Example, read_examples
from misstep.forge._split import Structure, cut_solution, split_steps
from misstep.forge._worked import MIN_STEPS, LeftOut, Worked, examine

__all__ = [
    "AUTOMATIC",
    "LATE_FRACTION",
    "MIN_STEPS",
    "Analysis",
    "Audit",
    "Check",
    "Example",
    "Failure",
    "Group",
    "LeftOut",
    "Structure",
    "Worked",
    "analyse",
    "audit",
    "check_example",
    "compared",
    "compared_aside",
    "cut_solution",
    "examine",
    "late_start",
    "read_examples",
    "split_steps",
    "steps_chart",
]
