"""What a generated solution can be asked to be."""

from typing import Literal

VERSION = "v1"
"""Counted up when the same seed no longer gives the same rows."""

Position = Literal["any", "early", "middle", "late"]
POSITIONS = ("any", "early", "middle", "late")
"""The thirds of a solution in which an error can be asked for."""

ERROR_TYPES = (
    "wrong_operation",
    "sign",
    "dropped_case",
    "misread",
    "unit",
    "off_by_one",
    "swapped_roles",
    "overgeneralisation",
    "condition",
)

Outcome = Literal["plain", "cancelled", "corrected"]
"""What becomes of an error: it stays, a second one restores the answer, or it is corrected."""
