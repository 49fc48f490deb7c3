"""How many errors of a set are found without reading: by their position, or with a calculator."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from misstep.arithmetic import false_equations
from misstep.forge._example import Example

WARN_ABOVE = 0.3
"""A share of errors that a baseline should not find."""


@dataclass(frozen=True)
class PriorBaseline:
    """A rule that reads no solution, and the errors that it finds."""

    name: str
    found: int
    errors: int

    @property
    def share(self) -> float:
        """The share of the errors that the rule finds."""
        return self.found / self.errors if self.errors else 0.0

    @property
    def cells(self) -> tuple[str, str, str]:
        """A table row under PRIOR_HEADINGS."""
        return self.name, f"{self.found:,} of {self.errors:,}", f"{100 * self.share:.1f}"


PRIOR_HEADINGS = ("baseline", "errors found", "%")


def prior_baselines(examples: Iterable[Example]) -> list[PriorBaseline]:
    """Return how many errors simple rules find: fixed positions, and false equations."""
    wrong = [example for example in examples if not example.untouched]
    from_end = Counter(len(example.steps) - example.label for example in wrong)
    best = from_end.most_common(1)[0][0] if from_end else 1
    rules: dict[str, Callable[[Example], int]] = {
        "late_window: always step floor(0.75 n)": lambda one: 3 * len(one.steps) // 4,
        f"the best fixed distance: always step n - {best}": lambda one: len(one.steps) - best,
        "arithmetic: the first step with a false equation": _first_false,
    }
    return [
        PriorBaseline(name, sum(rule(one) == one.label for one in wrong), len(wrong))
        for name, rule in rules.items()
    ]


def _first_false(example: Example) -> int:
    steps = enumerate(example.steps)
    return next((index for index, step in steps if false_equations(step)), -1)


def prior_warnings(baselines: Iterable[PriorBaseline]) -> list[str]:
    """Return a warning for each baseline that finds too many errors."""
    return [
        f"Warning: a baseline that reads no solution finds {100 * one.share:.0f}% of the errors "
        f"({one.name}). A larger late fraction spreads the errors."
        for one in baselines
        if one.share > WARN_ABOVE
    ]
