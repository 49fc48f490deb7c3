"""`misstep data`: looking at rows before they are run, and fetching them."""

import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.loaders import Summary, check_file, fetch, mirror, summary_of
from misstep.registry import printable

_MOST = 20
"""How many control characters are listed."""


@click.group()
def data() -> None:
    """Check your own file; fetch a registered source."""


@data.command()
@click.argument("file")
def check(file: str) -> None:
    """Say what is wrong with every bad row of FILE, or summarise a good one.

    FILE is JSON, JSONL, CSV or Parquet: a local path, or any address that fsspec knows. Exits with
    1 where a row is bad.
    """
    rows, bad = check_file(file)
    console = Console()
    for problem in bad:
        console.print(escape(printable(str(problem))), highlight=False, soft_wrap=True)
    if bad:
        console.print(f"{len(bad)} problems; {len(rows)} rows are good.", style="bold red")
        sys.exit(1)
    _print_summary(console, summary_of(rows))


@data.command("fetch")
@click.argument("source")
def fetch_source(source: str) -> None:
    """Save SOURCE in the offline mirror, checked.

    The mirror is the folder that MISSTEP_DATA names, else one in your cache folder. A download
    that breaks off is taken up again by the same command.
    """
    for path in fetch(source):
        click.echo(f"{path}  checked")
    click.echo(f"The offline mirror is {mirror()}; MISSTEP_DATA names it to other machines.")


def _print_summary(console: Console, summary: Summary) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("rows", f"{summary.rows:,}")
    table.add_row("with an error", f"{summary.errors:,} ({summary.errors / summary.rows:.1%})")
    for name, spread in (("steps", summary.steps), ("characters", summary.characters)):
        table.add_row(
            name,
            f"{spread.least:,} to {spread.greatest:,}, median {spread.median:,.0f}, "
            f"mean {spread.mean:,.1f}",
        )
    for subset, count in summary.subsets.items():
        table.add_row("subset", f"{escape(printable(subset))} ({count:,})")
    for label, count in summary.labels.items():
        table.add_row(
            "no error" if label < 0 else f"first error at {label}",
            f"{count:>5,} {'▇' * round(30 * count / summary.rows)}",
        )
    console.print(table, highlight=False)
    for place in summary.control_characters[:_MOST]:
        console.print(f"Warning: {escape(place)}: a lost backslash?", style="yellow")
