"""`misstep list`."""

from collections.abc import Iterator

import click
from rich.console import Console
from rich.table import Table

from misstep.registry import Size, evals


@click.command("list")
def list_evals() -> None:
    """Print every eval and variant with its size at the default settings."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("eval", no_wrap=True)
    table.add_column("samples", justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("description")
    for name, description, size in _entries():
        table.add_row(name, f"{size.samples:,}", _tokens(size.tokens), description)
    console = Console()
    console.print(table)
    console.print("\nRun one: inspect eval misstep/<eval> --model <model>", highlight=False)


def _entries() -> Iterator[tuple[str, str, Size]]:
    for name, entry in evals().items():
        yield name, entry.description, entry.size
        for variant, settings in entry.variants.items():
            yield f"{name}.{variant}", settings.description, settings.size


def _tokens(count: int) -> str:
    """An estimate, so rounded and marked as one."""
    return f"~{count / 1e6:.1f}M" if count >= 1e6 else f"~{count / 1e3:.0f}k"
