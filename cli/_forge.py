"""`misstep forge`: building sets of worked solutions with an injected error."""

import sys
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from misstep.cli._forge_build import build
from misstep.cli._forge_options import min_steps_option, source_option
from misstep.forge import (
    AUTOMATIC,
    MOST,
    Analysis,
    Audit,
    Group,
    Order,
    analyse,
    audit,
    find,
    markdown,
    page,
    source_rows,
    steps_chart,
)
from misstep.loaders import write_files
from misstep.registry import printable
from misstep.reports import save_chart


@click.group()
def forge() -> None:
    """Build sets of worked solutions with an injected late error; check and show them."""


forge.add_command(build)


@forge.command()
@source_option
@min_steps_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the steps by source: .svg, .png, .html or .json.",
)
def analyze(source: str, min_steps: int, plot: Path | None) -> None:
    """Tell the structure, the lengths and the steps of worked solutions, by source.

    Rows stream by: memory does not grow with their number.
    """
    analysis = analyse(source_rows(source, Order(min_steps=min_steps)), min_steps)
    console = Console()
    console.print(_sources_table(analysis, min_steps))
    console.print(_counts_table("cut by", analysis.everything.structures))
    console.print(_counts_table("left out", analysis.everything.left_out))
    if plot:
        save_chart(steps_chart(analysis, min_steps), plot)
        console.print(f"{plot}", highlight=False)


@forge.command()
@click.argument("file")
@click.option("--details", is_flag=True, help="Say what was found in every example that fails.")
def check(file: str, details: bool) -> None:
    """Run all quality checks on the examples of FILE, made here or elsewhere.

    FILE is JSON, JSONL, CSV or Parquet. Exits with 1 unless every example passes.
    """
    result = audit(file)
    console = Console()
    for problem in result.bad:
        console.print(escape(printable(str(problem))), highlight=False, soft_wrap=True)
    if details:
        for name, failures in result.failures.items():
            for one in failures:
                said = printable(f"{name}: {one.name}: {one.detail}")
                console.print(escape(said), highlight=False, soft_wrap=True)
    console.print(_failures_table(result))
    failed = len(result.failures) + len({problem.number for problem in result.bad})
    total = failed + len(result.examples) - len(result.failures)
    console.print(
        f"{total - failed} of {total} examples pass every check.",
        style="bold green" if result.passed else "bold red",
    )
    if not result.passed:
        sys.exit(1)


@forge.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--log", "logs", multiple=True, help="Of a critic that ran on the set; repeatable.")
@click.option(
    "--examples",
    default=MOST,
    show_default=True,
    type=click.IntRange(min=0),
    help="How many examples are shown side by side.",
)
def report(folder: Path, logs: tuple[str, ...], examples: int) -> None:
    """Report on the set that was built in FOLDER: report.md and report.html.

    Types, positions and reject reasons; original and modified steps side by side, with the changed
    text marked; with logs of critics, the errors that they found by type and position. The page
    needs no network.
    """
    findings = find(folder, logs)
    contents = {
        folder / "report.md": markdown(findings, examples).encode(),
        folder / "report.html": page(findings, examples).encode(),
    }
    write_files(contents, "Make the folder writable.")
    for path in contents:
        click.echo(str(path))


def _failures_table(result: Audit) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("check")
    table.add_column("reason")
    table.add_column("examples", justify="right")
    reasons = result.by_reason
    for name in AUTOMATIC:
        table.add_row(name, "", f"{result.by_check[name]:,}", style="bold")
        for (check_name, reason), count in reasons.most_common():
            if check_name == name:
                table.add_row("", reason, f"{count:,}")
    return table


def _sources_table(analysis: Analysis, min_steps: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source")
    wanted = f"{min_steps}+ steps"
    for heading in ("rows", "usable", wanted, "steps: median", "most", "characters: mean"):
        table.add_column(heading, justify="right")
    for name, group in sorted(analysis.sources.items()):
        table.add_row(escape(printable(name)), *_cells(group, min_steps))
    table.add_row("all", *_cells(analysis.everything, min_steps), style="bold")
    return table


def _cells(group: Group, min_steps: int) -> list[str]:
    long = sum(count for steps, count in group.steps.items() if steps >= min_steps)
    return [
        f"{group.rows:,}",
        f"{group.usable:,}",
        f"{long:,}",
        f"{group.median_steps}",
        f"{max(group.steps, default=0)}",
        f"{group.mean_characters:,.0f}",
    ]


def _counts_table(title: str, counts: Counter[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title)
    table.add_column("rows", justify="right")
    for name, count in counts.most_common():
        table.add_row(escape(printable(str(name))), f"{count:,}")
    return table
