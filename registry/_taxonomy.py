"""The kinds of logical error that are injected: `taxonomy.yaml`."""

from misstep.registry._read import Fact, read_facts


class LogicalError(Fact):
    """One kind of logical error."""

    description: str
    example: str


def taxonomy() -> dict[str, LogicalError]:
    """All kinds by name."""
    return read_facts("taxonomy.yaml", LogicalError)
