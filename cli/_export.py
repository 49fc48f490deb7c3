"""`misstep export`: the results of a run in the files that other tools read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from misstep.cli._exported import Run, csv_text, json_text, lines_text, read_run
from misstep.cli._exported_search import read_search
from misstep.loaders import write_files
from misstep.registry import MisstepError

Files = Iterator[tuple[Path, str]]


def _deltabench(run: Run) -> Files:
    folder = Path("results") / "processbench"
    yield folder / f"{run.name}.jsonl", lines_text(run.deltabench_rows())
    yield folder / f"{run.name}.csv", csv_text(run.by_task())


def _processbench(run: Run) -> Files:
    folder = Path("results") / run.model
    for file, rows in run.processbench_files().items():
        yield folder / file, lines_text(rows)


def _json(run: Run) -> Files:
    folder = Path("results") / "processbench"
    yield folder / f"{run.name}.json", json_text(run.plain())


FIRST_ERROR: dict[str, Callable[[Run], Files]] = {
    "deltabench": _deltabench,
    "processbench": _processbench,
    "json": _json,
}
SEARCH = "search"


@click.command("export")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice([*FIRST_ERROR, SEARCH]),
    help="What to write.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder; otherwise results/processbench, results/search, or results/<model>.",
)
def export_results(logs: tuple[str, ...], form: str, output: Path | None) -> None:
    """Write the results of LOGs to files.

    deltabench: one JSON Lines row a sample, and a CSV of the figures by task. processbench: the
    published script's <subset>_error.jsonl and <subset>_correct.jsonl, which `misstep import`
    reads back. json: results and metrics in one object. Figures are in percent.

    search, of guided search: for each set result-0-None.json with question, iteration_history,
    final_steps, pred_answer and gt_answer, and results.json with accuracies as fractions.
    """
    contents: dict[Path, bytes] = {}
    notes: list[str] = []
    for log in logs:
        files, failed = _files(form, log, output)
        for target, text in files:
            if target in contents:
                raise MisstepError(
                    f"{log}: {target} would be written twice. "
                    "Export these logs one by one, each to a folder of its own: -o DIR."
                )
            contents[target] = text.encode()
        if failed:
            notes.append(f"{log}: {failed} samples ended in an error and are left out.")
    write_files(contents, "Name a folder that can be written: -o DIR.")
    for target in contents:
        click.echo(str(target))
    for note in notes:
        click.echo(note, err=True)


def _files(form: str, log: str, output: Path | None) -> tuple[Files, int]:
    """What a log is exported to, and how many of its samples have no score."""
    if form == SEARCH:
        search = read_search(log)
        return search.files(output or Path("results") / "search"), search.failed
    run = read_run(log)
    files = FIRST_ERROR[form](run)
    return ((output / path.name if output else path, text) for path, text in files), run.failed
