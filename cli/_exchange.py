"""Results from elsewhere and for others: `misstep import`, `export`, `submit` and `board`."""

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import json_option, log_dir_option, max_size_option, output_option
from misstep.cli._output import (
    finished_results,
    print_json,
    print_lines,
    print_summary,
    results_object,
    write_output,
)
from misstep.loaders import folder_lock
from misstep.registry import MisstepError
from misstep.reports import (
    EXPORT_FORMATS,
    ImportedLog,
    board_page,
    check_results,
    export_log,
    import_files,
    some_ids,
    submission,
)

_RESULTS = click.Path(file_okay=False, path_type=Path)


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--source", help="Source of the rows: a registered source, or a file. Default: by the format."
)
@click.option("--subset", help="Subset of the source, if the files do not name it.")
@click.option("--model", help="Name of the model, if the files do not name it.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="A step with a lower score is wrong. Default: 0.5, or recorded labels.",
)
@click.option("--partial", is_flag=True, help="Import step scores that end before the last step.")
@log_dir_option()
@json_option
@max_size_option
def import_results(
    files: tuple[str, ...],
    source: str | None,
    subset: str | None,
    model: str | None,
    threshold: float | None,
    partial: bool,
    log_dir: str,
    as_json: bool,
) -> None:
    """Write the results in FILEs as Inspect logs, one for each model.

    \b
    FILEs hold one of these:
      critiques    ProcessBench's own files, math_error.jsonl and
                   math_correct.jsonl: rows with generated_critique,
                   prediction, match
      step scores  JSONL: id, scores, and model if there are several models
      predictions  CSV: id, prediction
      other        results in PRMBench's own format, MathCheck's predictions,
                   ReasonEval's critiques and step scores on MR-MATH, FoVer's
                   step scores on ProcessBench, AgentProcessBench's judges
      solutions    JSONL: problem_id, problem, target, steps, answer, and scores
                   by reward model
    """  # noqa: D301 (click reads the escaped character)
    console = Console()
    objects = []
    with folder_lock(log_dir, wait=True):
        found = list(import_files(files, log_dir, source, subset, model, threshold, partial))
    for imported in found:
        log = imported.log
        finished_results(log)
        ids = {name: getattr(imported, name) for name in ("differing", "missing", "partial")}
        objects.append(results_object(log) | ids | {"undecided": imported.undecided})
        if as_json:
            continue
        console.print()
        if imported.format:
            print_lines(console, [f"Recognised as {imported.format}."])
        print_summary(console, imported.summary)
        print_lines(console, _notes(imported), style="yellow")
    if as_json:
        print_json(objects)


def _notes(imported: ImportedLog) -> Iterator[str]:
    if ids := imported.missing:
        rows = len(ids) + (imported.log.eval.dataset.samples or 0)
        yield f"{len(ids):,} of {rows:,} rows have no result and are not counted: {some_ids(ids)}"
    if ids := imported.partial:
        yield f"{len(ids):,} records have no score for their last steps: {some_ids(ids)}"
        undecided = f"{len(imported.undecided):,} of them give no verdict"
        yield f"{undecided}: they count as wrong and are in the share `unparsed`."
    if ids := imported.differing:
        yield f"{len(ids):,} predictions differ from the recorded ones: {some_ids(ids)}"


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
@click.option(
    "--results",
    default="results",
    type=_RESULTS,
    metavar="FOLDER",
    help="Folder of files of results.",
)
@click.option("--data", is_flag=True, help="Compare all rows with their source; it may download.")
@output_option("FILE", "Markdown file for the board.", default="docs/board.md")
def board(results: Path, data: bool, output: Path) -> None:
    """Check all files of results and write the board.

    All metrics are computed from the verdicts again. A file that does not agree with itself, with
    another file or with the bundled rows is refused.
    """
    write_output({output: board_page(results, data).encode()}, "FILE")
    click.echo(str(output))
