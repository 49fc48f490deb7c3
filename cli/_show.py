"""`misstep show`: what a person wants to know after a run, on one screen."""

import sys

import click
from rich.console import Console

from misstep.cli._options import json_option
from misstep.cli._output import print_json, print_lines, print_runs, print_summary
from misstep.registry import MisstepError
from misstep.reports import one_line, read_logs, summary_of_run

_MOST_SCREENS = 3
"""More logs are shown as tables with one line for each."""


@click.command("show")
@click.argument("places", nargs=-1, required=True, metavar="LOG...")
@json_option
def show(places: tuple[str, ...], as_json: bool) -> None:
    """Print the results of each LOG at a glance. LOG is a log, or a folder of logs.

    The headline with its 95% interval, its parts, the subsets, the share of replies that could not
    be read by cause, tokens and cost, the nearest published number of the same protocol, and
    warnings where the number would mislead. All numbers are in percent. Of more than three logs,
    each is one line of a table.
    """
    logs = read_logs(*places)
    skipped = [f"Skipped {one_line(s.location)}: {one_line(s.reason)}" for s in logs.skipped]
    print_lines(Console(stderr=True), skipped, style="yellow")
    if not logs.runs:
        raise MisstepError(f"{', '.join(places)}: there is no log with results.")
    summaries = [summary_of_run(run) for run in logs.runs]
    if as_json:
        print_json(summaries)
        return
    console = Console()
    if len(summaries) > _MOST_SCREENS:
        print_runs(console, summaries)
    else:
        for number, summary in enumerate(summaries):
            if number:
                console.rule(style="dim")
            print_summary(console, summary)
    if logs.skipped:
        sys.exit(1)
