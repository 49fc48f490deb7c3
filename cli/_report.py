"""`misstep report`: everything that a folder of logs tells, on one page."""

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from misstep.loaders import write_files
from misstep.registry import MisstepError
from misstep.reports import build_report, read_logs, report_page
from misstep.reports._page import VIEWER
from misstep.reports._written import one_line


@click.command("report")
@click.argument("places", nargs=-1, required=True, metavar="LOGDIR...")
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page.",
)
@click.option(
    "--reading",
    default="strict",
    show_default=True,
    type=click.Choice(["strict", "lenient"]),
    help="Which of the scores.",
)
@click.option("--viewer", default=VIEWER, show_default=True, help="Where `inspect view` runs.")
def write_report(places: tuple[str, ...], output: Path, reading: str, viewer: str) -> None:
    """Write one self-contained page on the logs in LOGDIR.

    Leaderboards with intervals beside published results, where models fail, what runs took, and a
    link to every sample. Logs that cannot be counted in full are listed and skipped.
    """
    if not viewer.startswith(("http://", "https://")):
        raise MisstepError(f"--viewer {viewer}: wanted is an http:// or https:// address.")
    logs = read_logs(*places)
    console = Console(stderr=True)
    for skipped in logs.skipped:
        text = f"Skipped {one_line(skipped.location)}: {one_line(skipped.reason)}"
        console.print(escape(text), style="yellow", highlight=False, soft_wrap=True)
    if not logs.runs:
        raise MisstepError(f"{', '.join(places)}: there is no log that can be counted.")
    page = report_page(build_report(logs, reading), places[0], viewer)
    write_files({output: page.encode()}, "Name a file that can be written: -o FILE.")
    click.echo(f"{output}  {len(logs.runs)} runs, {len(logs.skipped)} logs skipped")
