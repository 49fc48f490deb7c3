"""`misstep forge`: building sets of worked solutions with an injected error."""

from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.forge import MIN_STEPS, Analysis, Group, analyse, steps_chart
from misstep.loaders import corpus_rows
from misstep.registry import printable
from misstep.reports import save_chart


@click.group()
def forge() -> None:
    """Build sets of worked solutions with an injected late error; check and show them."""


SOURCE = click.option(
    "--source",
    default="numinamath",
    show_default=True,
    help="A registered corpus, or a JSON, JSONL, CSV or Parquet file of problem and solution.",
)
LEAST_STEPS = click.option(
    "--min-steps",
    default=MIN_STEPS,
    show_default=True,
    type=click.IntRange(min=2),
    help="The fewest steps that a solution must have.",
)


@forge.command()
@SOURCE
@LEAST_STEPS
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the steps by source: .svg, .png, .html or .json.",
)
def analyze(source: str, min_steps: int, plot: Path | None) -> None:
    """Tell the structure, the lengths and the steps of worked solutions, by source.

    Rows stream by: memory does not grow with their number.
    """
    analysis = analyse(corpus_rows(source), min_steps)
    console = Console()
    console.print(_sources_table(analysis, min_steps))
    console.print(_counts_table("cut by", analysis.everything.structures))
    console.print(_counts_table("left out", analysis.everything.left_out))
    if plot:
        save_chart(steps_chart(analysis, min_steps), plot)
        console.print(f"{plot}", highlight=False)


def _sources_table(analysis: Analysis, min_steps: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source")
    wanted = f"{min_steps}+ steps"
    for heading in ("rows", "usable", wanted, "steps: median", "most", "characters: mean"):
        table.add_column(heading, justify="right")
    for name, group in sorted(analysis.sources.items()):
        table.add_row(escape(printable(name)), *_cells(group, min_steps))
    table.add_row("all", *_cells(analysis.everything, min_steps), style="bold")
    return table


def _cells(group: Group, min_steps: int) -> list[str]:
    long = sum(count for steps, count in group.steps.items() if steps >= min_steps)
    return [
        f"{group.rows:,}",
        f"{group.usable:,}",
        f"{long:,}",
        f"{group.median_steps}",
        f"{max(group.steps, default=0)}",
        f"{group.mean_characters:,.0f}",
    ]


def _counts_table(title: str, counts: Counter[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title)
    table.add_column("rows", justify="right")
    for name, count in counts.most_common():
        table.add_row(escape(printable(str(name))), f"{count:,}")
    return table
