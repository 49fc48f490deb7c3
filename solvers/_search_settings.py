"""What a user chooses about a guided search and its baselines."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspect_ai.model import GenerateConfig

from misstep.registry import MisstepError, UnknownNameError, find_judge
from misstep.rewards import AGGREGATIONS, Aggregation
from misstep.solvers._asking import SEED
from misstep.solvers._policy import BLANK_LINE, CONTINUATIONS, Continuation

Method: TypeAlias = Literal["greedy", "beam", "best_of_n", "majority", "plain"]
METHODS: tuple[Method, ...] = ("greedy", "beam", "best_of_n", "majority", "plain")
STEPWISE: tuple[Method, ...] = ("greedy", "beam")

TEMPERATURE = 0.7
STEP_TOKENS = 512
SOLUTION_TOKENS = 2048


@dataclass(frozen=True)
class SearchSettings:
    """A method and what it works with.

    Raises:
        MisstepError: A value that is not allowed.
        UnknownNameError: An unknown method, aggregation, style or continuation.
    """

    method: Method = "greedy"
    n: int = 8
    """Candidates for a step, or solutions."""
    width: int = 4
    """Paths that a beam search keeps."""
    aggregation: Aggregation = "last"
    """What a solution, or a path of a beam search, is worth."""
    max_steps: int = 30
    style: str = "written"
    """How a chat model is asked for rewards."""
    continuation: Continuation = "auto"
    budget: int | None = None
    """Tokens of policy and reward model together."""
    seed: int = SEED
    """Breaks ties."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method", self.method, METHODS)
        if self.aggregation not in AGGREGATIONS:
            raise UnknownNameError("aggregation", self.aggregation, AGGREGATIONS)
        if self.continuation not in CONTINUATIONS:
            raise UnknownNameError("continuation", self.continuation, CONTINUATIONS)
        find_judge(self.style)
        for name in ("n", "width", "max_steps", "budget"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            if not whole and not (name == "budget" and value is None):
                raise MisstepError(f"{name}={value}: a whole number of at least 1 is needed.")
        if self.method == "beam" and self.width > self.n:
            raise MisstepError(
                f"width={self.width}: a beam search keeps at most as many paths as it draws "
                f"candidates, n={self.n}."
            )

    @property
    def config(self) -> GenerateConfig:
        """How the policy generates, unless the user says otherwise."""
        if self.method in STEPWISE:
            return GenerateConfig(
                temperature=TEMPERATURE, max_tokens=STEP_TOKENS, stop_seqs=[BLANK_LINE], seed=SEED
            )
        temperature = 0.0 if self.method == "plain" else TEMPERATURE
        return GenerateConfig(temperature=temperature, max_tokens=SOLUTION_TOKENS, seed=SEED)
