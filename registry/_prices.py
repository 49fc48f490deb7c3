"""What models cost: `prices.yaml`."""

from datetime import date

from pydantic import Field

from misstep.registry._providers import service_model
from misstep.registry._read import Fact, read_facts


class Price(Fact):
    """A model's list price, in dollars a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    source: str
    date: date
    """When the source was read."""


def price_of(model: str) -> Price | None:
    """The price of a model, by its name in Inspect; None where it is not known."""
    return prices().get(service_model(model))


def prices() -> dict[str, Price]:
    """All known prices, by the model's name in Inspect."""
    return read_facts("prices.yaml", Price)
