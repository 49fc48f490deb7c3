"""What commands print: tables that fit 80 columns, JSON, notes."""

from collections.abc import Iterable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from misstep.plain_text import rich_text as shown
from misstep.registry import MisstepError

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.log import EvalLog, EvalResults

    from misstep.reports import TextTable

_FIRST_ERROR = ("f1_score", "error_accuracy", "correct_accuracy")
_SHARES = ("unparsed", "truncated")


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
    table = new_table(*(name.replace("_", "\n") for name in records[0]), words=words)
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
    results = log.results
    return {
        "model": log.eval.model,
        "task": log.eval.task,
        "log": log.location,
        "status": log.status,
        "samples": results.total_samples if results else None,
        "completed": results.completed_samples if results else None,
        "scores": {
            score.name: {name: metric.value for name, metric in score.metrics.items()}
            for score in (results.scores if results else [])
        },
    }


def metrics_table(results: "EvalResults") -> Table:
    """Return the metrics of a run as a table: one column per scorer, in percent, with intervals."""
    scorers: dict[str, dict[str, float]] = {}
    for score in results.scores:
        values = {name: float(metric.value) for name, metric in score.metrics.items()}
        scorers.setdefault(score.name, values)
    table = new_table(
        "",
        *map(shown, scorers),
        title=f"{results.completed_samples} of {results.total_samples} samples, in percent",
    )
    for name in _metric_names(scorers):
        table.add_row(shown(name), *(_cell(metrics, name) for metrics in scorers.values()))
    return table


def _metric_names(scorers: dict[str, dict[str, float]]) -> list[str]:
    """Return the few metrics that a table shows: of other evals, those that have an interval."""
    first: dict[str, float] = next(iter(scorers.values()), {})
    if "f1_score" in first and "unparsed" in first:
        by_subset = [name for name in first if name.endswith("_f1_score")]
        return [*_FIRST_ERROR, *by_subset, *_SHARES]
    names = {name: None for metrics in scorers.values() for name in metrics}
    return [name for name in names if f"{name}_lower" in names]


def _cell(metrics: dict[str, float], name: str) -> str:
    from misstep.reports import with_interval

    lower, upper = (metrics.get(f"{name}{end}", nan) for end in ("_lower", "_upper"))
    return with_interval(metrics[name], lower, upper) if name in metrics else ""
