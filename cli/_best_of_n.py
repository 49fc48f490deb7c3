"""`misstep best-of-n`: judge reward models by the solutions that they would choose."""

from pathlib import Path
from typing import get_args

import click
from rich.console import Console

from misstep.cli._options import json_option, output_option
from misstep.cli._output import print_json, print_lines, print_table, shown, write_output
from misstep.loaders import recorded_solutions
from misstep.reports import (
    Draws,
    best_of_n,
    best_of_n_chart,
    best_of_n_notes,
    best_of_n_records,
    best_of_n_tables,
    chart_bytes,
    csv_text,
    judge_solutions,
    label_conflicts,
    some_ids,
)


@click.command("best-of-n")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--n", "ns", multiple=True, type=int, help="Solutions to choose from. Default: 1, 2, 4, …"
)
@click.option(
    "--draws",
    type=click.Choice(get_args(Draws)),
    default="all",
    help="Average over all subsets of n solutions, or take the first n of the file.",
)
@output_option("FOLDER", "Folder for the table as CSV and for the chart.")
@json_option
def best_of_n_table(
    files: tuple[str, ...], ns: tuple[int, ...], draws: Draws, output: Path | None, as_json: bool
) -> None:
    """Choose among recorded solutions by the scores of their steps.

    FILES hold one solution per row: problem_id, problem, target, steps, answer, and scores by
    reward model, one per step. A solution is right if its answer is mathematically equal to the
    target. Recorded labels (correct, is_correct) that differ from this are counted and named.
    """
    judged = judge_solutions(recorded_solutions(files))
    most = len(judged[0].solutions)
    accuracies = best_of_n(
        judged, ns or sorted({*(2**i for i in range(most.bit_length())), most}), draws
    )
    records = best_of_n_records(accuracies)
    conflicts = label_conflicts(judged)
    files_to_write = {}
    if output is not None:
        chart = best_of_n_chart(accuracies, f"Best of n, {len(judged)} problems")
        files_to_write = {
            output / "best_of_n.csv": csv_text(records).encode(),
            output / "best_of_n.html": chart_bytes(chart, "html"),
            output / "best_of_n.svg": chart_bytes(chart, "svg"),
        }
        write_output(files_to_write, "FOLDER")
    if as_json:
        print_json({"problems": len(judged), "accuracies": records, "label_conflicts": conflicts})
        return
    console = Console()
    console.print(f"{len(judged)} problems, {most} solutions of each; accuracy in percent by n")
    for table in best_of_n_tables(accuracies):
        console.print()
        print_table(console, table)
    if conflicts:
        console.print(
            f"{sum(conflicts.values()):,} solutions of {len(conflicts):,} problems have another "
            f"recorded label than the comparison of answers gives: {shown(some_ids([*conflicts]))}",
            style="yellow",
            highlight=False,
        )
    for note in best_of_n_notes(accuracies):
        console.print(shown(note), style="yellow", highlight=False)
    for path in files_to_write:
        print_lines(console, [path])
