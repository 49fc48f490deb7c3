"""`misstep list`: every eval and variant."""

import click
from rich.console import Console
from rich.padding import Padding

from misstep.cli._options import json_option
from misstep.cli._output import new_table, print_json, shown
from misstep.reports import eval_sizes


@click.command("list")
@json_option
def list_evals(as_json: bool) -> None:
    """Print every eval and variant with its size (default settings)."""
    sizes = list(eval_sizes())
    if as_json:
        print_json(
            [
                {"eval": name, "description": text, **(size.model_dump() if size else {})}
                for name, text, size in sizes
            ]
        )
        return
    table = new_table("eval", "samples", "tokens")
    for name, description, size in sizes:
        numbers = (f"{size.samples:,}", _tokens(size.tokens)) if size else ()
        table.add_row(f"[bold]{shown(name)}[/bold]", *numbers)
        table.add_row(Padding(shown(description), (0, 0, 0, 2)))
    console = Console()
    console.print(table, highlight=False)
    console.print("\nRun one: inspect eval misstep/<eval> --model <model>", highlight=False)


def _tokens(count: int) -> str:
    """Return an estimated number of tokens, rounded."""
    return f"~{count / 1e6:.1f}M" if count >= 1e6 else f"~{count / 1e3:.0f}k"
