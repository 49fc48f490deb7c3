"""`misstep import`: results of runs made elsewhere become Inspect logs."""

from collections.abc import Iterator

import click
from rich.console import Console

from misstep.cli._options import json_option, log_dir_option, max_size_option
from misstep.cli._output import (
    finished_results,
    print_json,
    print_lines,
    print_summary,
    results_object,
)
from misstep.loaders import folder_lock
from misstep.reports import ImportedLog, import_files, some_ids


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
