"""A comparison as tables for people and as data for programs."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from misstep.reports._comparison import Comparison, DifferingSample
from misstep.reports._text import (
    TextTable,
    markdown_table,
    markdown_text,
    one_line,
    p_text,
    percent,
    to_json,
    with_interval,
)

SIGNIFICANT = 0.05


def run_lines(comparison: Comparison) -> Iterator[str]:
    """One line per run: its letter, name, protocol and log."""
    for letter, run in comparison.runs.items():
        yield f"{letter}: {one_line(run.name)}, {one_line(run.protocol)} ({one_line(run.file)})"


def contrast_tables(comparison: Comparison) -> list[TextTable]:
    """The metrics of the runs in percent, then one table of differences per pair of runs."""
    pairs = combinations(comparison.runs, 2)
    return [_values_table(comparison), *(_pair_table(comparison, *pair) for pair in pairs)]


def _values_table(comparison: Comparison) -> TextTable:
    values: dict[str, dict[str, float]] = {letter: {} for letter in comparison.runs}
    for contrast in comparison.contrasts:
        values[contrast.first][contrast.metric] = contrast.first_value
        values[contrast.second][contrast.metric] = contrast.second_value
    metrics = next(iter(values.values()))
    rows = [[run, *(percent(own[name]) for name in metrics)] for run, own in values.items()]
    return TextTable(["run", *metrics], rows)


def _pair_table(comparison: Comparison, first: str, second: str) -> TextTable:
    contrasts = [c for c in comparison.contrasts if (c.first, c.second) == (first, second)]
    # With one pair, there is nothing to correct.
    columns = 6 if len(comparison.runs) > 2 else 5
    headings = ["metric", "difference", f"only {first}", f"only {second}", "p", "Holm"]
    rows = [
        [
            contrast.metric,
            with_interval(contrast.difference, contrast.lower, contrast.upper, signed=True),
            *("" if n is None else f"{n:,}" for n in (contrast.only_first, contrast.only_second)),
            p_text(contrast.p),
            p_text(contrast.p_holm),
        ]
        for contrast in contrasts
    ]
    return TextTable(
        headings[:columns],
        [row[:columns] for row in rows],
        title=f"{second} − {first}",
        bold=[contrast.p_holm < SIGNIFICANT for contrast in contrasts],
    )


def differing_table(comparison: Comparison, show: int) -> TextTable:
    """The first samples for which the runs differ. Right answers have a check mark."""
    count = len(comparison.differing)
    title = f"{count:,} samples on which they differ"
    title += f", the first {show}" if count > show else ""
    headings = ["sample", "subset", "target", *comparison.runs]
    rows = [_differing_row(sample) for sample in comparison.differing[:show]]
    return TextTable(headings, rows, title, words=len(headings))


def _differing_row(sample: DifferingSample) -> list[str]:
    answers = [
        f"{'none' if answer is None else one_line(answer)}{' ✓' if hit == 1 else ''}"
        for answer, hit in zip(sample.answers, sample.hits, strict=True)
    ]
    return [one_line(sample.id), one_line(sample.subset), one_line(sample.target), *answers]


def comparison_method(comparison: Comparison) -> str:
    """How the metrics were computed."""
    first = next(iter(comparison.runs.values()))
    left_out = (
        f" {comparison.left_out:,} samples that not all runs have a score for are left out."
        if comparison.left_out
        else ""
    )
    pairs = len(comparison.runs) * (len(comparison.runs) - 1) // 2
    correction = f" Holm's correction is over the {pairs} pairs for each metric." * (pairs > 1)
    return (
        f"{one_line(first.eval)}, version {first.version}, {one_line(first.data)}, "
        f"{comparison.reading} reading: {comparison.samples:,} paired samples.{left_out} "
        "Metrics are in percent. Differences have 95% intervals from "
        f"{comparison.resamples:,} paired resamples. 'only A' counts the samples that only run A "
        "has right. Shares of samples are tested by McNemar's exact test, other metrics by the "
        f"paired bootstrap.{correction}"
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison as JSON types: fractions, and null for undefined numbers."""
    content: dict[str, Any] = to_json(
        {
            "runs": {
                letter: {
                    "model": run.model,
                    "protocol": run.protocol,
                    "eval": run.eval,
                    "version": run.version,
                    "data": run.data,
                    "log": run.location,
                }
                for letter, run in comparison.runs.items()
            },
            "reading": comparison.reading,
            "samples": comparison.samples,
            "left_out": comparison.left_out,
            "resamples": comparison.resamples,
            "contrasts": [contrast.record() for contrast in comparison.contrasts],
            "differing": comparison.differing,
        }
    )
    return content


def comparison_markdown(comparison: Comparison, show: int) -> str:
    """The comparison as Markdown."""
    tables = contrast_tables(comparison)
    if show and comparison.differing:
        tables.append(differing_table(comparison, show))
    parts = ["\n".join(f"- {markdown_text(line)}" for line in run_lines(comparison)) + "\n"]
    parts.append(markdown_text(comparison_method(comparison)) + "\n")
    for table in tables:
        parts += [f"{markdown_text(table.title)}:\n"] if table.title else []
        parts.append(markdown_table(table.headings, table.rows))
    return "\n".join(parts)
