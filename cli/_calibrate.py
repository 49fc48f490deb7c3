"""`misstep calibrate`: how difficult are rows, how able are critics, and which rows suffice?"""

from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from misstep.cli._options import count_option, output_option, reading_option
from misstep.cli._output import print_lines, records_table, write_output
from misstep.reports import (
    ability_on,
    calibrate,
    critic_records,
    csv_text,
    rank_agreement,
    read_run,
    responses_of,
    row_records,
    short_set,
)

_ROWS = 200
_FEW = 10
"""Fewer critics give rough difficulties."""


@click.command("calibrate")
@click.argument("logs", nargs=-1, required=True, metavar="LOG LOG...")
@click.option("--model", type=click.Choice(["rasch", "2pl"]), default="rasch", help="The model.")
@count_option("--rows", _ROWS, 1, "Number of rows of the short set.")
@reading_option("strict", "lenient", "published")
@output_option("FOLDER", "Folder for rows.csv, critics.csv and set.txt.")
def calibrate_rows(
    logs: tuple[str, ...],
    model: Literal["rasch", "2pl"],
    rows: int,
    reading: str,
    output: Path | None,
) -> None:
    """Fit how difficult rows are and how able critics are, on one scale.

    LOGs are finished logs of several critics on the same rows. The model is Rasch's, or 2PL with a
    discrimination for every row. A short set of rows is chosen that tells most about abilities. The
    command prints whether it ranks the critics as all rows do.

    Run other critics on the set: inspect eval EVAL --sample-id "$(paste -sd, FOLDER/set.txt)"
    """
    found = responses_of([read_run(log) for log in logs], reading)
    fitted = calibrate(found.right, model)
    chosen = short_set(fitted, found.groups, min(rows, len(found.rows)))
    critics = critic_records(found, fitted, chosen)
    agreement = rank_agreement(fitted.abilities, ability_on(fitted, found.right, chosen))
    console = Console()
    console.print(records_table(critics))
    lines = [
        f"{len(found.rows)} rows, of which {len(chosen)} are in the short set. Kendall's rank "
        f"correlation of the abilities on the set with those on all rows: {agreement:.2f}."
    ]
    if len(logs) < _FEW:
        lines.append(
            f"Difficulties from {len(logs)} critics are rough. Use the logs of {_FEW} critics or "
            "more, of different strength."
        )
    print_lines(console, lines)
    if output is None:
        return
    ids = "".join(f"{found.rows[place]}\n" for place in sorted(chosen))
    contents = {
        output / "rows.csv": csv_text(row_records(found, fitted, chosen)).encode(),
        output / "critics.csv": csv_text(critics).encode(),
        output / "set.txt": ids.encode(),
    }
    write_output(contents, "FOLDER")
    click.echo(str(output / "set.txt"))
