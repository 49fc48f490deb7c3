"""`misstep plot`: logs as charts."""

from pathlib import Path

import click

from misstep.reports import By, recovery_chart, recovery_rates, save_chart


@click.group("plot")
def plot() -> None:
    """Draw charts of logs: .svg, .png, .html, or .json for the Vega-Lite description."""


@plot.command("recovery")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The chart's file.",
)
@click.option(
    "--by",
    type=click.Choice(["task", "position", "steps"]),
    default="task",
    show_default=True,
    help="What is set side by side.",
)
@click.option("--lenient", is_flag=True, help="Answers as they were meant.")
def plot_recovery(logs: tuple[str, ...], output: Path, by: By, lenient: bool) -> None:
    """Draw how often models are right in the three variations of error-recovery LOGs.

    Bars with 95% intervals (Wilson's), a row for each log.
    """
    rates = recovery_rates(logs, by, lenient)
    save_chart(recovery_chart(rates, by, lenient), output)
    click.echo(str(output))
