"""`misstep compare`: is the difference between runs real?"""

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.reports import RESAMPLES, Comparison, compare, read_run
from misstep.reports._comparison_text import (
    HEADINGS,
    as_json,
    as_markdown,
    contrast_cells,
    differing_cells,
    differing_headings,
    method,
    run_lines,
)


@click.command("compare")
@click.argument("logs", nargs=-1, required=True, metavar="LOG LOG...")
@click.option(
    "--reading",
    default="strict",
    show_default=True,
    type=click.Choice(["strict", "lenient", "published"]),
    help="Which of the scores.",
)
@click.option("--common", is_flag=True, help="Compare on the samples that all logs have.")
@click.option(
    "--resamples", default=RESAMPLES, show_default=True, type=click.IntRange(100), help="Bootstrap."
)
@click.option(
    "--show", default=20, show_default=True, type=click.IntRange(0), help="Differing samples shown."
)
@click.option(
    "--format",
    "form",
    default="table",
    show_default=True,
    type=click.Choice(["table", "json", "markdown"]),
    help="What to print.",
)
def compare_runs(
    logs: tuple[str, ...], reading: str, common: bool, resamples: int, show: int, form: str
) -> None:
    """Compare runs on the same samples, in pairs.

    LOGs are finished logs of one eval, version and data; others are refused, with the reason.
    Accuracies by McNemar's exact test, F1 by a paired bootstrap.
    """
    comparison = compare([read_run(log) for log in logs], reading, common, resamples)
    if form == "json":
        click.echo(as_json(comparison), nl=False)
    elif form == "markdown":
        click.echo(as_markdown(comparison, show), nl=False)
    else:
        _print(Console(), comparison, show)


def _print(console: Console, comparison: Comparison, show: int) -> None:
    for line in run_lines(comparison):
        console.print(escape(line), highlight=False, soft_wrap=True)
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in HEADINGS:
        words = heading in ("figure", "pair")
        table.add_column(heading, justify="left" if words else "right", no_wrap=True)
    for contrast in comparison.contrasts:
        real = contrast.p_holm < 0.05
        table.add_row(*map(escape, contrast_cells(contrast)), style="bold" if real else "")
    console.print(table)
    console.print(escape(method(comparison)), highlight=False)
    count = len(comparison.differing)
    if not count or not show:
        console.print(f"They differ on {count:,} samples.", highlight=False)
        return
    shown = f", the first {show}" if count > show else ""
    samples = Table(
        title=f"{count:,} samples on which they differ{shown}",
        title_justify="left",
        header_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for heading in differing_headings(comparison):
        samples.add_column(heading)
    for cells in differing_cells(comparison, show):
        samples.add_row(*map(escape, cells))
    console.print(samples)
