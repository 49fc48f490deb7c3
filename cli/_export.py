"""`misstep export`: the results of runs in files that other tools read."""

from collections.abc import Callable
from pathlib import Path

import click

from misstep.cli._options import output_folder_option
from misstep.cli._output import write_output
from misstep.registry import MisstepError
from misstep.reports import (
    FirstErrorResults,
    deltabench_files,
    json_file,
    processbench_files,
    read_first_error_results,
    read_search_results,
)

_FIRST_ERROR: dict[str, Callable[[FirstErrorResults], dict[str, str]]] = {
    "deltabench": deltabench_files,
    "processbench": processbench_files,
    "json": json_file,
}
_SEARCH = "search"


@click.command("export")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--format",
    "file_format",
    required=True,
    type=click.Choice([*_FIRST_ERROR, _SEARCH]),
    help="Format of the files.",
)
@output_folder_option(
    "Folder for the files. Default: results/processbench, results/search, or results/<model> "
    "for the format processbench."
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
    notes: list[str] = []
    for log in logs:
        files, failed = _files(file_format, log, output)
        for path, text in files.items():
            if path in contents:
                raise MisstepError(
                    f"{log}: {path} would be written twice. "
                    "Export these logs one by one, each to its own folder: -o FOLDER."
                )
            contents[path] = text.encode()
        if failed:
            notes.append(f"{log}: {failed} samples ended in an error and are left out.")
    write_output(contents, "FOLDER")
    for path in contents:
        click.echo(str(path))
    for note in notes:
        click.echo(note, err=True)


def _files(file_format: str, log: str, output: Path | None) -> tuple[dict[Path, str], int]:
    """Return the files of a log, and how many of its samples have no score."""
    if file_format == _SEARCH:
        search = read_search_results(log)
        default, files, failed = "search", search.files(), search.failed
    else:
        results = read_first_error_results(log)
        default = results.model if file_format == "processbench" else "processbench"
        files, failed = _FIRST_ERROR[file_format](results), results.failed
    folder = output or Path("results") / default
    return {folder / name: text for name, text in files.items()}, failed
