"""What a sample's variations leave for scoring."""

from typing import Literal

from inspect_ai.model import ModelOutput, StopReason
from inspect_ai.util import Store
from pydantic import BaseModel

from misstep.registry import MisstepError
from misstep.verdicts import Unread

Variation = Literal["NR", "CR", "IR"]
VARIATIONS: tuple[Variation, ...] = ("NR", "CR", "IR")
"""No reasoning is given, correct reasoning, or incorrect reasoning."""

Turn = Literal["plain", "continued", "new_turn", "asked"]
"""How the model's reasoning followed what it was given: after a user's message, as one text with
given reasoning, as a message of its own after it, or so after being asked to go on."""

_STORED = "variations"


class Reply(BaseModel):
    """One reply of the model, without its text."""

    stop_reason: StopReason
    empty: bool
    tokens: int
    """Of prompt and reply, as the provider counted them."""

    @classmethod
    def of(cls, output: ModelOutput) -> "Reply":
        """What is kept of an output."""
        return cls(
            stop_reason=output.stop_reason,
            empty=not output.completion.strip(),
            tokens=output.usage.total_tokens if output.usage else 0,
        )

    @property
    def unread(self) -> Unread | None:
        """Why the reply gives nothing to read, if that is so."""
        if self.stop_reason in ("max_tokens", "model_length"):
            return Unread.TRUNCATED
        if self.stop_reason == "content_filter":
            return Unread.REFUSED
        return Unread.EMPTY if self.empty else None


class VariationRecord(BaseModel):
    """How one variation went."""

    answer: str
    """The text of the last reply, as it came."""
    last: Reply
    reasoning: list[Reply]
    """The replies before it."""
    turn: Turn

    @property
    def replies(self) -> list[Reply]:
        """All replies."""
        return [*self.reasoning, self.last]


def keep_variations(store: Store, records: dict[Variation, VariationRecord]) -> None:
    """Keep how the variations went where the scorers look for it."""
    store.set(_STORED, {name: record.model_dump() for name, record in records.items()})


def kept_variations(store: Store) -> dict[Variation, VariationRecord]:
    """How the variations went.

    Raises:
        MisstepError: Nothing was kept, since the sample was solved in another way.
    """
    kept = store.get(_STORED) or {}
    if missing := [name for name in VARIATIONS if name not in kept]:
        raise MisstepError(
            f"There is no answer to the variation {missing[0]}: `recovery` scores what the solver "
            "`continuation` leaves."
        )
    return {name: VariationRecord.model_validate(kept[name]) for name in VARIATIONS}
