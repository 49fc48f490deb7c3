"""All checks on a file of examples, counted."""

from collections import Counter
from dataclasses import dataclass, field

from misstep.forge._checks import Failure, check_example
from misstep.forge._compared import compared
from misstep.forge._record import Example, read_examples
from misstep.loaders import BadRow, read_rows
from misstep.registry import DataError


@dataclass
class Audit:
    """What the checks found in a file."""

    examples: list[Example]
    bad: list[BadRow]
    """Rows that are no examples."""
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    """By the id of each example that does not pass."""

    @property
    def passed(self) -> bool:
        """Whether every row is an example that passes every check."""
        return not self.bad and not self.failures

    @property
    def by_check(self) -> Counter[str]:
        """How many examples fail each check."""
        return Counter(
            check for found in self.failures.values() for check in {one.check for one in found}
        )

    @property
    def by_reason(self) -> Counter[tuple[str, str]]:
        """How many examples fail each check for each reason."""
        return Counter(
            pair
            for found in self.failures.values()
            for pair in {(one.check.value, one.reason) for one in found}
        )


def audit(address: str) -> Audit:
    """Check a file of examples, made here or elsewhere.

    Raises:
        DataError: The file cannot be read, or holds no rows.
    """
    examples, bad = read_examples(read_rows(address))
    if not examples and not bad:
        raise DataError(f"{address}: holds no rows.")
    result = Audit(examples, bad)
    for example in examples:
        if failures := check_example(example, compared(example)):
            result.failures[example.id] = failures
    return result
