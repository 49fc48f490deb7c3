"""What comes of a sample: an example, or the reasons why there is none; and what was spent."""

from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import ModelOutput


@dataclass(frozen=True)
class Reject:
    """Why an attempt, or a sample, came to nothing."""

    stage: str
    reason: str
    detail: str

    @property
    def name(self) -> str:
        """To be counted by."""
        return f"{self.stage}: {self.reason}"


@dataclass
class Spent:
    """The calls of a sample, answered now or in a run before."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def add(self, output: ModelOutput) -> None:
        """Count an answer."""
        self.calls += 1
        if output.usage is None:
            return
        usage = output.usage
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        self.input_tokens += usage.input_tokens + cached
        self.output_tokens += usage.output_tokens
        if usage.total_cost is not None:
            self.cost = (self.cost or 0.0) + usage.total_cost


@dataclass
class Result:
    """What came of a sample."""

    example: dict[str, Any] | None = None
    """The accepted example."""
    rejects: list[Reject] = field(default_factory=list)
    """What was wrong with the last attempt, where none was accepted."""
    attempts: int = 0
    spent: Spent = field(default_factory=Spent)
