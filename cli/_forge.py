"""`misstep forge`: sets of worked solutions with an injected error."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from misstep.cli._forge_build import build, build_command, corpus_option, min_steps_option
from misstep.cli._options import json_option, log_option, output_option, show_option
from misstep.cli._output import new_table, print_json, print_lines, records_table, shown
from misstep.forge import (
    AUTOMATIC_CHECKS,
    Audit,
    BuildSettings,
    SolutionCounts,
    analyse,
    audit,
    source_rows,
)
from misstep.loaders import write_files
from misstep.reports import (
    FORGE_REPORT_EXAMPLES,
    forge_report_markdown,
    forge_report_page,
    read_forge_report,
    run_critic,
    save_chart,
    step_counts_chart,
)


@click.group()
def forge() -> None:
    """Build, check and show sets of solutions with an injected error."""


forge.add_command(build)


@forge.command()
@corpus_option
@min_steps_option
@output_option("FILE", "Draw the steps by source to this file: .svg, .png, .html or .json.")
@json_option
def analyze(source: str, min_steps: int, output: Path | None, as_json: bool) -> None:
    """Print the structure, lengths and steps of worked solutions, by source.

    Rows are streamed: memory does not grow with their number.
    """
    analysis = analyse(source_rows(source, BuildSettings(min_steps=min_steps)), min_steps)
    if output:
        save_chart(step_counts_chart(analysis, min_steps), output)
    groups = {**dict(sorted(analysis.sources.items())), "all": analysis.everything}
    sources = [_group_record(name, group, min_steps) for name, group in groups.items()]
    counts = {"split_by": analysis.everything.structures, "left_out": analysis.everything.left_out}
    if as_json:
        print_json({"min_steps": min_steps, "sources": sources, **counts})
        return
    console = Console()
    console.print(records_table(sources))
    for heading, counted in counts.items():
        records = [{heading: str(name), "rows": count} for name, count in counted.most_common()]
        if records:
            console.print(records_table(records))
    if output:
        print_lines(console, [output])


@forge.command()
@click.argument("file")
@click.option("--details", is_flag=True, help="Print every failure of every example.")
@json_option
def check(file: str, details: bool, as_json: bool) -> None:
    """Run all quality checks on the examples of FILE, from here or from elsewhere.

    FILE is JSON, JSONL, CSV or Parquet. The exit code is 1 if an example fails.
    """
    result = audit(file)
    failed = len(result.failures) + len({problem.number for problem in result.bad})
    total = failed + len(result.examples) - len(result.failures)
    failures = [
        {"example": name, "check": one.stage, "reason": one.reason, "detail": one.detail}
        for name, found in result.failures.items()
        for one in found
    ]
    if as_json:
        print_json(
            {
                "examples": total,
                "passed": total - failed,
                "by_check": {name: result.by_check[name] for name in AUTOMATIC_CHECKS},
                "bad_rows": list(map(str, result.bad)),
                "failures": failures,
            }
        )
    else:
        console = Console()
        print_lines(console, result.bad)
        if details:
            lines = ("{example}: {check}: {reason}: {detail}".format(**one) for one in failures)
            print_lines(console, lines)
        console.print(_failures_table(result))
        console.print(
            f"{total - failed} of {total} examples pass every check.",
            style="bold green" if result.passed else "bold red",
        )
    if not result.passed:
        sys.exit(1)


@forge.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@log_option("Log of a critic that ran on the set. Repeatable.")
@show_option(FORGE_REPORT_EXAMPLES, "examples side by side")
def report(folder: Path, logs: tuple[str, ...], show: int) -> None:
    """Write report.md and report.html on the set in FOLDER.

    The report has the types and positions of the errors, the reasons for rejects, and original and
    modified steps side by side with the changed text marked. With logs of critics it has the share
    of errors that they found, by type and position. The page needs no network.
    """
    content = read_forge_report(folder, logs)
    contents = {
        folder / "report.md": forge_report_markdown(content, show).encode(),
        folder / "report.html": forge_report_page(content, show).encode(),
    }
    write_files(contents, "Make the folder writable.")
    for path in contents:
        click.echo(str(path))


@forge.command()
@build_command
@click.option("--critic", default="critique", help="Critic that runs on the set, as in the eval.")
@click.option("--critic-model", help="Model of the critic. Default: the injecting model.")
def make(
    critic: str,
    critic_model: str | None,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Make a set and all that goes with it: analysis, build, review, card, critic, report.

    The folder gets steps.svg (the analysis of the source), the built set with its card, the log of
    one critic, and report.md and report.html, which say which types of error the critic finds
    least, and where.

    Resumable: rerun the same command after a kill. No answer is paid for twice.
    """
    context = click.get_current_context()
    folder: Path = settings["output"]
    context.invoke(build, as_json=False, **settings)
    chart = folder / "steps.svg"
    if not chart.is_file():
        source, min_steps = settings["source"], settings["min_steps"]
        limits = BuildSettings(min_steps=min_steps, num_examples=settings["num_examples"])
        save_chart(
            step_counts_chart(analyse(source_rows(source, limits), min_steps), min_steps), chart
        )
        click.echo(str(chart))
    log = run_critic(
        folder,
        critic,
        critic_model or settings["model"],
        settings["model_base_url"] if critic_model is None else None,
        settings["max_connections"],
    )
    click.echo(log)
    context.invoke(report, folder=folder, logs=(log,), show=FORGE_REPORT_EXAMPLES)
    for sentence in read_forge_report(folder, [log]).findings:
        click.echo(sentence)


def _failures_table(result: Audit) -> Table:
    table = new_table("check", "reason", "examples", words=2)
    for name in AUTOMATIC_CHECKS:
        table.add_row(name, "", f"{result.by_check[name]:,}", style="bold")
        for (check_name, reason), count in result.by_reason.most_common():
            if check_name == name:
                table.add_row("", shown(reason), f"{count:,}")
    return table


def _group_record(name: str, group: SolutionCounts, min_steps: int) -> dict[str, Any]:
    return {
        "source": name,
        "rows": group.rows,
        "usable": group.usable,
        "long_enough": sum(n for steps, n in group.steps.items() if steps >= min_steps),
        "median_steps": group.median_steps,
        "most_steps": max(group.steps, default=0),
        "mean_characters": group.mean_characters,
    }
