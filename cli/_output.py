"""What commands print: tables that fit 80 columns, JSON, notes."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from misstep.plain_text import rich_text as shown
from misstep.registry import MisstepError

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.log import EvalLog, EvalResults

    from misstep.reports import MetricValue, RunSummary, TextTable

_MOST_SUBSETS = 12
_MOST_COLUMNS = 2


def new_table(*headings: str, title: str | None = None, words: int = 1) -> Table:
    """Return an empty table that fits 80 columns."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, heading in enumerate(headings):
        if i < words:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    return table


def records_table(records: Sequence[dict[str, Any]], words: int = 1) -> Table:
    """Return records as a table: their keys are the headings, numbers have separators."""
    first, *rest = records[0]
    table = new_table(first, *(re.sub("[_ ]", "\n", name) for name in rest), words=words)
    for record in records:
        cells = record.values()
        table.add_row(*(shown(c) if isinstance(c, str) else f"{c:,.0f}" for c in cells))
    return table


def print_table(console: Console, text: "TextTable") -> None:
    """Print a table of text from data."""
    table = new_table(*map(shown, text.headings), title=shown(text.title) or None, words=text.words)
    for i, row in enumerate(text.rows):
        bold = bool(text.bold) and text.bold[i]
        table.add_row(*map(shown, row), style="bold" if bold else "")
    console.print(table)


def print_lines(console: Console, lines: Iterable[object], style: str = "") -> None:
    """Print lines of text from data; long lines wrap at the terminal's edge."""
    for line in lines:
        console.print(shown(line), style=style, highlight=False, soft_wrap=True)


def print_json(content: object) -> None:
    """Print dataclasses, mappings and lists as JSON; undefined numbers are null."""
    from misstep.reports import json_text

    click.echo(json_text(content), nl=False)


def write_output(contents: "dict[Path, bytes]", kind: str) -> None:
    """Write files, all or none of them."""
    from misstep.loaders import write_files

    write_files(contents, f"Choose a {kind.lower()} that can be written: -o {kind}.")


def finished_results(log: "EvalLog") -> "EvalResults":
    """Return the results of a log."""
    if log.status != "success" or log.results is None:
        detail = f" ({log.error.message})" if log.error else ""
        raise MisstepError(
            f"{log.location}: the run ended with the status {log.status!r}{detail}. "
            f"To finish it: inspect eval-retry {log.location}"
        )
    return log.results


def results_object(log: "EvalLog") -> dict[str, Any]:
    """Return the results of a log for JSON: fractions, by scorer and metric."""
    from misstep.reports import result_metrics

    results = log.results
    return {
        "model": log.eval.model,
        "task": log.eval.task,
        "log": log.location,
        "status": log.status,
        "samples": results.total_samples if results else None,
        "completed": results.completed_samples if results else None,
        "scores": result_metrics(results) if results else {},
    }


def print_summary(console: Console, summary: "RunSummary") -> None:
    """Print a run at a glance."""
    from misstep.reports import grouping_name, metric_name

    head = (summary.eval, summary.data, summary.model, summary.protocol)
    console.print(shown(" · ".join(dict.fromkeys(head))), style="bold", highlight=False)
    counted = f"{summary.samples:,} of {summary.total:,} samples, in percent, with 95% intervals"
    console.print(f"{counted}\n", style="dim", highlight=False)
    table = new_table("", "")
    table.show_header = False
    headline = shown(metric_name(summary.headline.name))
    table.add_row(headline, value_text(summary.headline), style="bold")
    for part in summary.parts:
        table.add_row(f"  {shown(metric_name(part.name))}", value_text(part))
    console.print(table, highlight=False)
    if summary.subsets:
        console.print()
        by_subset = new_table("subset", "samples", headline)
        for one in summary.subsets[:_MOST_SUBSETS]:
            by_subset.add_row(shown(one.subset), f"{one.samples:,}", value_text(one.metric))
        console.print(by_subset, highlight=False)
        if len(summary.subsets) > _MOST_SUBSETS:
            rest = len(summary.subsets) - _MOST_SUBSETS
            console.print(f"and {rest} more subsets: --json", style="dim")
    for by, groups in summary.groups.items():
        if not groups:
            continue
        console.print()
        counted = "steps" if by == "step_kind" else "samples"
        by_group = new_table(grouping_name(by), counted, metric_name(groups[0].metric.name))
        for group in groups:
            by_group.add_row(shown(group.group), f"{group.samples:,}", value_text(group.metric))
        console.print(by_group, highlight=False)
    console.print()
    console.print(_facts_table(summary), highlight=False)


def print_runs(console: Console, summaries: "Sequence[RunSummary]") -> None:
    """Print several runs as a table for each data set: one line per run, with its warnings."""
    from misstep.reports import metric_name, percent

    groups: dict[tuple[str, str], list[RunSummary]] = {}
    for summary in summaries:
        groups.setdefault((summary.eval, summary.data), []).append(summary)
    for number, (names, runs) in enumerate(groups.items()):
        if number:
            console.print()
        parts = [part.name for part in runs[0].parts[:_MOST_COLUMNS]]
        headings = ["samples", metric_name(runs[0].headline.name), *map(metric_name, parts)]
        table = new_table(
            "run",
            *(shown(heading) for heading in headings),
            title=shown(" · ".join(dict.fromkeys(names))),
        )
        for one in runs:
            known = {part.name: percent(part.value) for part in one.parts}
            label = (
                one.model
                if one.protocol in ("default", "baseline", "imported")
                else f"{one.model}, {one.protocol}"
            )
            mark = "[yellow](!)[/yellow] " if one.warnings else ""
            table.add_row(
                mark + shown(label),
                f"{one.samples:,}",
                value_text(one.headline),
                *(known.get(part, "") for part in parts),
            )
        console.print(table, highlight=False)
    if any(summary.warnings for summary in summaries):
        console.print("\n(!) has warnings: misstep show LOG", style="yellow", highlight=False)


def _facts_table(summary: "RunSummary") -> Table:
    from misstep.reports import dollars, metric_name, percent

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    causes = [f"{shown(name.replace('_', ' '))} {percent(v)}" for name, v in summary.unread.items()]
    total = percent(sum(summary.unread.values()))
    table.add_row("unread", f"{total} ({', '.join(causes)})" if causes else total)
    tokens = f"{summary.input_tokens:,} tokens in, {summary.output_tokens:,} out"
    if summary.cost is not None:
        tokens += f", {dollars(summary.cost)} ({summary.cost_source})"
    table.add_row("cost", tokens if summary.input_tokens else "no call of a model")
    if (found := summary.published) is not None:
        table.add_row(
            "published",
            shown(
                f"{found.model}: {metric_name(found.metric)} {percent(found.value)} "
                f"({found.protocol}; {found.source}); this run by the same rule: "
                f"{percent(found.own)}"
            ),
        )
    for note in summary.notes:
        table.add_row("note", shown(note))
    for warning in summary.warnings:
        table.add_row("warning", shown(warning), style="yellow")
    table.add_row("log", shown(summary.log))
    return table


def value_text(metric: "MetricValue") -> str:
    """Return a metric in percent with its interval."""
    from misstep.reports import with_interval

    return with_interval(metric.value, metric.lower, metric.upper)
