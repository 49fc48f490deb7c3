"""Verdicts, and the reasons why an output gives none."""

from enum import StrEnum
from typing import Literal, TypeAlias

Verdict: TypeAlias = int
"""The index of the first wrong step, or NO_ERROR."""

NO_ERROR = -1
"""The label, and the verdict, of a solution without an error."""

Reading: TypeAlias = Literal["strict", "lenient"]
"""How a text is read: strict follows the published rule, lenient takes what was evidently meant."""

READINGS: tuple[Reading, ...] = ("strict", "lenient")


class Unread(StrEnum):
    """Why an output gives no verdict. An unread verdict never matches a label."""

    NO_BOX = "no_box"
    NOT_AN_INDEX = "not_an_index"
    NO_SIGN = "no_sign"
    NO_CONCLUSION = "no_conclusion"
    NO_SECTION = "no_section"
    NOT_STRUCTURED = "not_structured"
    WRONG_LENGTH = "wrong_length"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    EMPTY = "empty"
    NOT_RECORDED = "not_recorded"
    NO_REWARD = "no_reward"
    NOT_LABELLED = "not_labelled"
    TOO_LONG = "too_long"


def unread_stop(stop_reason: str) -> Unread | None:
    """Return why a reply that ended for this reason gives no verdict, or None."""
    if stop_reason in ("max_tokens", "model_length"):
        return Unread.TRUNCATED
    return Unread.REFUSED if stop_reason == "content_filter" else None
