"""`misstep submit` and `misstep board`: results that anybody can check, and their page."""

from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import output_option
from misstep.cli._output import print_lines, write_output
from misstep.reports import board_page, check_results, submission

_RESULTS = click.Path(file_okay=False, path_type=Path)


@click.command("submit")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@output_option("FOLDER", "Folder for the files of results.", default="results")
def submit(logs: tuple[str, ...], output: Path) -> None:
    """Check LOGs and write one file of results for each.

    A log must be complete, and its rows must come from a pinned source. The file has metrics,
    settings, checksums, and the label and verdict of each sample, but no text of the data, of
    prompts or of replies. A pull request with the file is a submission to the board.
    """
    files = [submission(log) for log in logs]
    for file, log in zip(files, logs, strict=True):
        check_results(file, log)
    contents = {output / file.name: file.text().encode() for file in files}
    write_output(contents, "FOLDER")
    lines = (f"{path}  {len(content):,} bytes" for path, content in contents.items())
    print_lines(Console(), lines)


@click.command("board")
@click.option("--results", default="results", type=_RESULTS, help="Folder of files of results.")
@click.option("--data", is_flag=True, help="Compare all rows with their source; it may download.")
@output_option("FILE", "Markdown file for the board.", default="docs/board.md")
def board(results: Path, data: bool, output: Path) -> None:
    """Check all files of results and write the board.

    All metrics are computed from the verdicts again. A file that does not agree with itself, with
    another file or with the bundled rows is refused.
    """
    write_output({output: board_page(results, data).encode()}, "FILE")
    click.echo(str(output))
