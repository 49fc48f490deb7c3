"""Results of logs on the screen, as charts and as files: `misstep show`, `plot` and `export`."""

import sys
from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import json_option, max_size_option, output_option, reading_option
from misstep.cli._output import print_json, print_lines, print_runs, print_summary, write_output
from misstep.registry import MisstepError
from misstep.reports import (
    EXPORT_FORMATS,
    RecoveryGrouping,
    export_log,
    one_line,
    read_logs,
    recovery_chart,
    recovery_rates,
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


@click.command("export")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--format",
    "file_format",
    required=True,
    type=click.Choice(EXPORT_FORMATS),
    help="Format of the files.",
)
@output_option(
    "FOLDER",
    "Folder for the files. Default: results/processbench, results/search, or results/<model> "
    "for the format processbench.",
)
@max_size_option
def export_results(logs: tuple[str, ...], file_format: str, output: Path | None) -> None:
    """Write the results of LOGs to files.

    deltabench: one JSON Lines row for each sample, and a CSV of the metrics by task.

    processbench: the published script's <subset>_error.jsonl and <subset>_correct.jsonl, which
    `misstep import` reads.

    agentprocessbench (logs of agent_process only): for each set, the judgement of each trajectory,
    as in the published results. `misstep import` reads them too.

    json: results and metrics in one object.

    search (logs of guided search only): for each data set result-0-None.json with question,
    iteration_history, final_steps, pred_answer and gt_answer, and results.json with accuracies as
    fractions.

    Metrics are in percent, except in the format search.
    """
    contents: dict[Path, bytes] = {}
    notes = []
    for log in logs:
        export = export_log(log, file_format)
        folder = output or Path("results") / export.folder
        for name, text in export.files.items():
            if folder / name in contents:
                raise MisstepError(
                    f"{log}: {folder / name} would be written twice. "
                    "Export these logs one by one, each to its own folder: -o FOLDER."
                )
            contents[folder / name] = text.encode()
        if export.failed:
            notes.append(f"{log}: {export.failed} samples ended in an error and are left out.")
    write_output(contents, "FOLDER")
    for path in contents:
        click.echo(str(path))
    for note in notes:
        click.echo(note, err=True)
