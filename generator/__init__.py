"""Worked solutions that are right or wrong by construction.

A solution is a graph of computed quantities, and its text is written from the graph. An error is a
change of the graph, so the wrong steps and all effects of the error are known exactly.
"""

from misstep.generator._graph import Operation, Ref, Sheet, Slip, evaluate, operands_of
from misstep.generator._settings import ERROR_TYPES, POSITIONS, Settings, check_count, settings_of
from misstep.generator._solutions import ANSWERS, VERSION, Solution, solution, solutions
from misstep.generator.families import FAMILIES

__all__ = [
    "ANSWERS",
    "ERROR_TYPES",
    "FAMILIES",
    "POSITIONS",
    "VERSION",
    "Operation",
    "Ref",
    "Settings",
    "Sheet",
    "Slip",
    "Solution",
    "check_count",
    "evaluate",
    "operands_of",
    "settings_of",
    "solution",
    "solutions",
]
