"""`misstep report`: one page on a folder of logs."""

from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import max_size_option, output_option, reading_option
from misstep.cli._output import print_lines, write_output
from misstep.registry import MisstepError
from misstep.reports import (
    VIEWER,
    build_report,
    figure_files,
    latex_files,
    load_libraries,
    one_line,
    read_logs,
    read_tag,
    report_page,
)


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
    logs = read_logs(*places, meanwhile=load_libraries)
    skipped = [f"Skipped {one_line(s.location)}: {one_line(s.reason)}" for s in logs.skipped]
    print_lines(Console(stderr=True), skipped, style="yellow")
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
    click.echo(f"{output}  {len(logs.runs)} runs, {len(logs.skipped)} logs skipped")
    if figures is not None:
        click.echo(f"{figures}  {len(files) - 1} files{'; see paper.tex' if latex else ''}")
