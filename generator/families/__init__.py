"""The families of problems, one per file.

Each file has `build`, and the error types of the family: ERROR_TYPES, and LATE for those that can
only happen near the end, when the parts are put together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from misstep.generator._graph import Build
from misstep.generator.families import (
    _brackets,
    _code_traces,
    _counting,
    _deduction,
    _fractions,
    _kinematics,
    _linear_equations,
    _modular_arithmetic,
    _percentages,
    _probability,
    _programs,
    _reachability,
    _recurrences,
    _scheduling,
    _sequences,
    _shuffled_objects,
    _sorting,
    _spreadsheets,
    _stoichiometry,
    _word_problems,
)


@dataclass(frozen=True)
class Family:
    """One kind of problem."""

    build: Build
    error_types: list[str]
    late: list[str]

    def allows(self, error_type: str, position: str) -> bool:
        """Return whether an error can happen in that third of a solution."""
        anywhere = position in ("any", "late")
        return error_type in self.error_types and (anywhere or error_type not in self.late)


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        module.__name__.rpartition("._")[2]: Family(
            module.build, module.ERROR_TYPES.split(), getattr(module, "LATE", "").split()
        )
        for module in (
            _word_problems,
            _linear_equations,
            _fractions,
            _percentages,
            _sequences,
            _counting,
            _kinematics,
            _stoichiometry,
            _programs,
            _brackets,
            _sorting,
            _shuffled_objects,
            _deduction,
            _probability,
            _modular_arithmetic,
            _recurrences,
            _reachability,
            _scheduling,
            _spreadsheets,
            _code_traces,
        )
    }
)
"""All families by name."""
