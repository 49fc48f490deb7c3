"""`misstep compare`: is the difference between runs real?"""

import click
from rich.console import Console

from misstep.cli._options import count_option, json_option, reading_option, show_option
from misstep.cli._output import print_json, print_lines, print_table, shown
from misstep.reports import (
    RESAMPLES,
    Comparison,
    compare,
    comparison_json,
    comparison_markdown,
    comparison_method,
    comparison_notes,
    contrast_tables,
    differing_table,
    read_run,
    run_lines,
)


@click.command("compare")
@click.argument("logs", nargs=-1, required=True, metavar="LOG LOG...")
@reading_option("strict", "lenient", "published")
@click.option("--common", is_flag=True, help="Compare only the samples that all logs have.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    help="Test whether the second run of a pair is worse by less than this, e.g. 0.02.",
)
@click.option("--metric", help="Test only this metric. Default: all; of more than 4 runs, F1.")
@count_option("--resamples", RESAMPLES, 100, "Number of resamples and of permutations.")
@show_option(20, "samples on which the runs differ")
@click.option("--markdown", is_flag=True, help="Print Markdown, not a table.")
@json_option
def compare_runs(
    logs: tuple[str, ...],
    reading: str,
    common: bool,
    margin: float | None,
    metric: str | None,
    resamples: int,
    show: int,
    markdown: bool,
    as_json: bool,
) -> None:
    """Compare runs on the same samples, in pairs.

    LOGs are finished logs of one eval, version and data. Accuracies are compared by McNemar's exact
    test, F1 and samples in clusters by a paired permutation test.
    """
    runs = [read_run(log) for log in logs]
    comparison = compare(runs, reading, common, resamples, margin, metric)
    if as_json:
        print_json(comparison_json(comparison))
    elif markdown:
        click.echo(comparison_markdown(comparison, show), nl=False)
    else:
        _print(Console(), comparison, show)


def _print(console: Console, comparison: Comparison, show: int) -> None:
    print_lines(console, run_lines(comparison))
    for table in contrast_tables(comparison):
        console.print()
        print_table(console, table)
    console.print()
    console.print(shown(comparison_method(comparison)), highlight=False)
    for note in comparison_notes(comparison):
        console.print(f"\n{shown(note)}", style="yellow", highlight=False)
    count = len(comparison.differing)
    if count and show:
        console.print()
        print_table(console, differing_table(comparison, show))
    else:
        console.print(f"They differ on {count:,} samples.", highlight=False)
