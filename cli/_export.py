"""`misstep export`: the results of runs in files that other tools read."""

from pathlib import Path

import click

from misstep.cli._options import output_option
from misstep.cli._output import write_output
from misstep.registry import MisstepError
from misstep.reports import EXPORT_FORMATS, export_log


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
def export_results(logs: tuple[str, ...], file_format: str, output: Path | None) -> None:
    """Write the results of LOGs to files.

    deltabench: one JSON Lines row for each sample, and a CSV of the metrics by task.

    processbench: the published script's <subset>_error.jsonl and <subset>_correct.jsonl, which
    `misstep import` reads.

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
