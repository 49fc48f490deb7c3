"""The `misstep` command."""

from misstep.cli._main import main
