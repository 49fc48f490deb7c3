"""Building sets of worked solutions with an injected error: split, inject, check, write."""

from misstep.forge._analysis import Analysis, Group, analyse, steps_chart
from misstep.forge._split import Structure, cut_solution, split_steps
from misstep.forge._worked import MIN_STEPS, LeftOut, Worked, examine

__all__ = [
    "MIN_STEPS",
    "Analysis",
    "Group",
    "LeftOut",
    "Structure",
    "Worked",
    "analyse",
    "cut_solution",
    "examine",
    "split_steps",
    "steps_chart",
]
