"""What providers do at the end of a message, given or written: `providers.yaml`."""

from typing import Any

from pydantic import Field

from misstep.registry._read import Fact, read_facts


class Provider(Fact):
    """A provider of models, as Inspect names it."""

    continues: bool = False
    """Whether it carries a trailing assistant message on."""
    continue_with: dict[str, Any] = Field(default_factory=dict)
    """What makes it do so where it does not by itself."""
    new_turn_with: dict[str, Any] | None = None
    """What makes it begin a new message where it does not by itself; None where nothing does."""
    stop_in_text_with: dict[str, Any] = Field(default_factory=dict)
    """What leaves a stop string in the text, which tells a text that ended there from one that
    ended by itself."""


def service_model(name: str) -> str:
    """A model by its service's name: `lean/…` is a way to call one, not another model."""
    return name.removeprefix("lean/")


def find_provider(name: str) -> Provider:
    """The provider of that name; one that is not listed begins a new message."""
    known: dict[str, Provider] = read_facts("providers.yaml", Provider)
    return known.get(name, Provider())
