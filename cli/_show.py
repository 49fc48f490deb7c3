"""Results of logs on the screen, as charts and as a page: `misstep show`, `plot` and `report`."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import json_option, max_size_option, output_option, reading_option
from misstep.cli._output import print_json, print_lines, print_runs, print_summary, write_output
from misstep.registry import MisstepError
from misstep.reports import (
    VIEWER,
    Logs,
    RecoveryGrouping,
    build_report,
    figure_files,
    latex_files,
    load_libraries,
    one_line,
    read_logs,
    read_tag,
    recovery_chart,
    recovery_rates,
    report_page,
    save_chart,
    summary_of_run,
)

_MOST_SCREENS = 3
"""More logs are shown as tables with one line for each."""


@click.command("show")
@click.argument("places", nargs=-1, required=True, metavar="LOG...")
@json_option
@max_size_option
def show(places: tuple[str, ...], as_json: bool) -> None:
    """Print the results of each LOG at a glance. LOG is a log, or a folder of logs.

    The headline with its 95% interval, its parts, the subsets, the share of replies that could not
    be read by cause, tokens and cost, the nearest published number of the same protocol, and
    warnings where the number would mislead. All numbers are in percent. Of more than three logs,
    each is one line of a table.
    """
    logs = _read(places)
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


@click.group("plot")
def plot() -> None:
    """Draw charts of logs: .svg, .png, .html, or .json (Vega-Lite)."""


@plot.command("recovery")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@output_option("FILE", "File of the chart: .svg, .png, .html or .json.", required=True)
@click.option(
    "--group",
    "by",
    type=click.Choice(["task", "position", "steps"]),
    default="task",
    help="Draw a group of bars for each task, position of the mistake, or number of steps.",
)
@reading_option("strict", "lenient")
@max_size_option
def plot_recovery(logs: tuple[str, ...], output: Path, by: RecoveryGrouping, reading: str) -> None:
    """Draw how often models are right in the three variations of error-recovery LOGs.

    Bars have 95% intervals (Wilson's). Each log has its own row.
    """
    save_chart(recovery_chart(recovery_rates(logs, by, reading), by, reading), output)
    click.echo(str(output))


@click.command("report")
@click.argument("places", nargs=-1, required=True, metavar="LOGDIR...")
@output_option("FILE", "File of the page.", default="report.html")
@reading_option("strict", "lenient", "published")
@click.option("--viewer", default=VIEWER, help="Address of `inspect view`.")
@click.option("--by", metavar="tag:NAME", help="Draw curves over a tag of runs: tag:step.")
@click.option(
    "--figures",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write every chart as PDF and SVG, and its data as CSV.",
)
@click.option(
    "--latex",
    is_flag=True,
    help="Also write tables, methods and references for a paper to the folder of --figures.",
)
@max_size_option
def write_report(
    places: tuple[str, ...],
    output: Path,
    reading: str,
    viewer: str,
    by: str | None,
    figures: Path | None,
    latex: bool,
) -> None:
    """Write one self-contained page on the logs in LOGDIR.

    It has leaderboards with intervals, every sample with its steps and what each run said, charts
    of where models fail, and the tokens and cost of runs. Logs that cannot be counted are skipped
    and listed.
    """
    if latex and figures is None:
        raise MisstepError("--latex needs a folder for its files: add --figures FOLDER.")
    tag = None if by is None else read_tag(by)
    if not viewer.startswith(("http://", "https://")):
        raise MisstepError(
            f"--viewer {viewer}: this is not an http:// or https:// address. The default is "
            f"{VIEWER}."
        )
    logs = _read(places, load_libraries)
    if not logs.runs:
        raise MisstepError(f"{', '.join(places)}: there is no log that can be counted.")
    if tag is not None and not any(tag in run.tags for run in logs.runs):
        known = sorted({name for run in logs.runs for name in run.tags})
        raise MisstepError(
            f"--by tag:{tag}: no run has this tag. Tags of these runs: "
            f"{one_line(', '.join(known)) or 'none'}. Add one with `inspect eval --tags {tag}=...`."
        )
    report = build_report(logs, reading, tag)
    files = {output: report_page(report, places[0], viewer).encode()}
    if figures is not None:
        charts = dict(figure_files(report))
        files |= {figures / name: content for name, content in charts.items()}
        if latex:
            pictures = [name for name in charts if name.endswith(".pdf")]
            kit = latex_files(logs.runs, reading, pictures)
            files |= {figures / name: text.encode() for name, text in kit.items()}
    write_output(files, "FILE")
    runs, skipped = len(logs.runs), len(logs.skipped)
    plural = "s" * (runs != 1), "s" * (skipped != 1)
    click.echo(f"{output}  {runs} run{plural[0]}, {skipped} log{plural[1]} skipped")
    if figures is not None:
        click.echo(f"{figures}  {len(files) - 1} files{'; see paper.tex' if latex else ''}")


def _read(places: Sequence[str], meanwhile: Callable[[], None] | None = None) -> Logs:
    """Read logs, and say which of them are skipped."""
    logs = read_logs(*places, meanwhile=meanwhile)
    skipped = [f"Skipped {one_line(s.location)}: {one_line(s.reason)}" for s in logs.skipped]
    print_lines(Console(stderr=True), skipped, style="yellow")
    return logs
