"""`misstep threshold`: choose and judge the threshold of a reward model after the run."""

from pathlib import Path

import click
from rich.console import Console

from misstep.cli._options import json_option, output_option
from misstep.cli._output import print_json, print_lines, print_table, shown, write_output
from misstep.plain_text import printable
from misstep.reports import (
    CROSS_VALIDATION,
    TunedThreshold,
    calibration_records,
    chart_bytes,
    csv_text,
    file_name,
    json_text,
    reward_rows,
    threshold_charts,
    threshold_method,
    threshold_records,
    tune_threshold,
)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--tune",
    default="gsm8k",
    metavar=f"SUBSET|{CROSS_VALIDATION}",
    help="Subset on which the threshold is chosen, or cross-validation within each subset.",
)
@output_option("FOLDER", "Folder for the curves, as charts and as data.")
@json_option
def threshold(logs: tuple[str, ...], tune: str, output: Path | None, as_json: bool) -> None:
    """Tune the threshold of first-error LOGs that have rewards.

    The threshold with the best F1 on one subset is applied to the others, as the ProcessBench paper
    does with gsm8k. With cross-validation, the threshold of each sample is tuned on other samples
    of its subset. Logs of one model are joined. No model is called.
    """
    tuned = [tune_threshold(model, rows, tune) for model, rows in reward_rows(logs).items()]
    console = Console()
    if as_json:
        print_json([of_model.summary() for of_model in tuned])
    for of_model in tuned:
        if not as_json:
            for table in of_model.tables():
                print_table(console, table)
                console.print()
            for note in of_model.notes():
                console.print(f"{shown(note)}\n", style="yellow", highlight=False)
        if output is not None:
            write_output(_files(output, of_model), "FOLDER")
    if not as_json:
        console.print(threshold_method(), highlight=False)
    if output is not None and not as_json:
        print_lines(console, [f"Curves and data: {output}"])


def _files(folder: Path, tuned: TunedThreshold) -> dict[Path, bytes]:
    name = file_name(tuned.model)
    chart = threshold_charts(tuned.curves, tuned.thresholds, printable(tuned.model))
    return {
        folder / f"{name}_thresholds.csv": csv_text(threshold_records(tuned.curves)).encode(),
        folder / f"{name}_calibration.csv": csv_text(calibration_records(tuned.curves)).encode(),
        folder / f"{name}_summary.json": json_text(tuned.summary()).encode(),
        folder / f"{name}_curves.html": chart_bytes(chart, "html"),
        folder / f"{name}_curves.svg": chart_bytes(chart, "svg"),
    }
