"""Worked solutions that are right or wrong by construction.

A solution is a graph of computed quantities, and its text is written from the graph. An error is a
change of the graph, so the wrong steps and all effects of the error are known exactly.
"""

from misstep.generator._graph import (
    Operation as Operation,
    Ref as Ref,
    Sheet as Sheet,
    Slip as Slip,
    evaluate as evaluate,
    operands_of as operands_of,
)
from misstep.generator._solutions import (
    ANSWERS as ANSWERS,
    ERROR_TYPES as ERROR_TYPES,
    POSITIONS as POSITIONS,
    VERSION as VERSION,
    Settings as Settings,
    Solution as Solution,
    check_count as check_count,
    settings_of as settings_of,
    solution as solution,
    solutions as solutions,
)
from misstep.generator._worlds import WORLDS as WORLDS, trajectories as trajectories
from misstep.generator.families import FAMILIES as FAMILIES
