"""Worked solutions that are right or wrong by construction.

A solution is a graph of computed quantities. Its text is written from the graph, and an error is a
change of the graph: what is right, what is wrong and what follows from it are known exactly.
"""

from misstep.generator._facts import ERROR_TYPES, POSITIONS, VERSION
from misstep.generator._graph import Operation, Ref, Slip, evaluate, operands_of
from misstep.generator._settings import Settings, check_count, settings_of
from misstep.generator._sheet import Sheet
from misstep.generator._solution import ANSWERS, Solution
from misstep.generator._solutions import solution, solutions
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
