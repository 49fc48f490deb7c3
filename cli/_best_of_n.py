"""`misstep best-of-n`: reward models judged by the solutions that they would have chosen."""

from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.loaders import recorded_solutions, write_files
from misstep.registry import printable
from misstep.reports import (
    Accuracy,
    Draws,
    best_of_n,
    best_of_n_chart,
    best_of_n_records,
    csv_text,
    differing,
    drawn,
    judge_solutions,
)


@click.command("best-of-n")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--n", "ns", multiple=True, type=int, help="1, 2, 4 and so on where not given.")
@click.option(
    "--draws",
    type=click.Choice(get_args(Draws)),
    default="all",
    show_default=True,
    help="Average over all subsets of n solutions, or take the first n of the file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the table as CSV and the chart.",
)
def best_of_n_table(
    files: tuple[str, ...], ns: tuple[int, ...], draws: Draws, output: Path | None
) -> None:
    """Choose among recorded solutions by the scores of their steps.

    FILES hold one solution a row: problem_id, problem, target, steps, answer, and scores by reward
    model, one a step. Solutions are right where their answer is mathematically equal to the target.
    """
    console = Console(width=None if Console().is_terminal else 120)
    problems = recorded_solutions(files)
    judged = judge_solutions(problems)
    most = len(judged[0].solutions)
    chosen = list(ns) or sorted({*_powers(most), most})
    accuracies = best_of_n(judged, chosen, draws)
    console.print(_table(accuracies, chosen, f"{len(judged)} problems, {most} solutions of each"))
    if others := differing(judged):
        shown = ", ".join(escape(printable(id)) for id in others[:5])
        console.print(
            f"Of {len(others)} problems solutions are not as right or wrong as recorded: {shown}",
            style="yellow",
        )
    if output is not None:
        title = f"Best of n, {len(judged)} problems"
        chart = best_of_n_chart(accuracies, title)
        contents = {
            output / "best_of_n.csv": csv_text(best_of_n_records(accuracies)).encode(),
            output / "best_of_n.html": drawn(chart, "html"),
            output / "best_of_n.svg": drawn(chart, "svg"),
        }
        write_files(contents, "Name a folder that can be written: -o DIR.")
        for path in contents:
            console.print(str(path), highlight=False)


def _powers(most: int) -> list[int]:
    return [2**i for i in range(most.bit_length()) if 2**i <= most]


def _table(accuracies: list[Accuracy], ns: list[int], title: str) -> Table:
    table = Table(title=f"{title}; accuracy in percent, 95% interval at the last n")
    table.add_column("chosen by")
    table.add_column("aggregation")
    for n in ns:
        table.add_column(str(n), justify="right", no_wrap=True)
    rows: dict[tuple[str, str], list[str]] = {}
    for one in accuracies:
        estimate = one.accuracy
        text = f"{100 * estimate.value:.1f}"
        if one.n == ns[-1]:
            text += f" [{100 * estimate.lower:.1f}, {100 * estimate.upper:.1f}]"
        rows.setdefault((one.method, one.aggregation or ""), []).append(text)
    for (method, aggregation), cells in rows.items():
        table.add_row(escape(printable(method)), aggregation, *cells)
    return table
