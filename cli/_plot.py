"""`misstep plot`: charts of logs."""

from pathlib import Path

import click

from misstep.cli._options import output_option, reading_option
from misstep.reports import RecoveryGrouping, recovery_chart, recovery_rates, save_chart


@click.group("plot")
def plot() -> None:
    """Draw charts of logs: .svg, .png, .html, or .json (Vega-Lite)."""


@plot.command("recovery")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@output_option("FILE", "File of the chart: .svg, .png, .html or .json.", required=True)
@click.option(
    "--by",
    type=click.Choice(["task", "position", "steps"]),
    default="task",
    help="Draw a group of bars for each task, position of the mistake, or number of steps.",
)
@reading_option("strict", "lenient")
def plot_recovery(logs: tuple[str, ...], output: Path, by: RecoveryGrouping, reading: str) -> None:
    """Draw how often models are right in the three variations of error-recovery LOGs.

    Bars have 95% intervals (Wilson's). Each log has its own row.
    """
    save_chart(recovery_chart(recovery_rates(logs, by, reading), by, reading), output)
    click.echo(str(output))
