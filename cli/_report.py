"""`misstep report`: one page on a folder of logs."""

from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import output_option, reading_option
from misstep.cli._output import print_lines, write_output
from misstep.registry import MisstepError
from misstep.reports import VIEWER, build_report, one_line, read_logs, report_page


@click.command("report")
@click.argument("places", nargs=-1, required=True, metavar="LOGDIR...")
@output_option("FILE", "File of the page.", default="report.html")
@reading_option("strict", "lenient", "published")
@click.option("--viewer", default=VIEWER, help="Address of `inspect view`.")
def write_report(places: tuple[str, ...], output: Path, reading: str, viewer: str) -> None:
    """Write one self-contained page on the logs in LOGDIR.

    It has leaderboards with intervals beside published results, charts of where models fail, the
    tokens and cost of runs, and a link to every sample. Logs that cannot be counted are skipped
    and listed.
    """
    if not viewer.startswith(("http://", "https://")):
        raise MisstepError(
            f"--viewer {viewer}: this is not an http:// or https:// address. The default is "
            f"{VIEWER}."
        )
    logs = read_logs(*places)
    skipped = [f"Skipped {one_line(s.location)}: {one_line(s.reason)}" for s in logs.skipped]
    print_lines(Console(stderr=True), skipped, style="yellow")
    if not logs.runs:
        raise MisstepError(f"{', '.join(places)}: there is no log that can be counted.")
    page = report_page(build_report(logs, reading), places[0], viewer)
    write_output({output: page.encode()}, "FILE")
    click.echo(f"{output}  {len(logs.runs)} runs, {len(logs.skipped)} logs skipped")
