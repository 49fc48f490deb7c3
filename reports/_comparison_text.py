"""A comparison as tables for people and as data for programs."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

from misstep.reports._comparison import MOST_RUNS, POWER, Comparison, Contrast, DifferingSample
from misstep.reports._text import (
    TextTable,
    cluster_note,
    markdown_table,
    markdown_text,
    one_line,
    p_text,
    percent,
    to_json,
    with_interval,
)
from misstep.scorers import Estimate


def run_lines(comparison: Comparison) -> Iterator[str]:
    """One line per run: its letter, name, protocol and log."""
    for letter, run in comparison.runs.items():
        yield f"{letter}: {one_line(run.name)}, {one_line(run.protocol)} ({one_line(run.file)})"


def contrast_tables(comparison: Comparison) -> list[TextTable]:
    """The metrics of the runs in percent, the differences, then which runs cannot be told apart.

    Up to four runs have one table of differences for each pair. More runs have one table of the
    pairs that are next to each other in the ranking.
    """
    tables = [_values_table(comparison)]
    if len(comparison.runs) <= MOST_RUNS:
        tables += [_pair_table(comparison, *pair) for pair in combinations(comparison.runs, 2)]
    else:
        tables.append(_neighbours_table(comparison))
    if len(comparison.runs) > 2 and comparison.margin is None:
        tables.append(_ranking_table(comparison))
    return tables


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
        headings,
        rows,
        title=f"{second} − {first}",
        bold=[comparison.is_decided(contrast) for contrast in contrasts],
    )


def _neighbours_table(comparison: Comparison) -> TextTable:
    """The differences of runs that are next to each other in the ranking."""
    order = [name for name, _ in comparison.ranking()]
    pairs = {frozenset((c.first, c.second)): c for c in comparison.headline_contrasts}
    rows, bold = [], []
    for better, worse in pairwise(order):
        contrast = pairs[frozenset((better, worse))]
        cell = with_interval(contrast.difference, contrast.lower, contrast.upper, signed=True)
        name = f"{contrast.second} − {contrast.first}"
        rows.append([name, cell, p_text(contrast.p), p_text(contrast.p_holm)])
        bold.append(comparison.is_decided(contrast))
    title = f"{comparison.contrasts[0].metric}: neighbours in the ranking"
    return TextTable(["runs", "difference", "p", "Holm"], rows, title, bold=bold)


def _ranking_table(comparison: Comparison) -> TextTable:
    """The runs by the first metric. A bar joins runs that cannot be told apart."""
    groups = comparison.tied_groups()
    rows = []
    for name, value in comparison.ranking():
        bars = "".join("│" if name in group else " " for group in groups).rstrip()
        rows.append([name, one_line(comparison.runs[name].name), bars, percent(value)])
    title = f"Ranking by {comparison.contrasts[0].metric}: a bar joins runs that are not told apart"
    return TextTable(["run", "model", "", "value"], rows, title, words=3)


def comparison_notes(comparison: Comparison) -> Iterator[str]:
    """Say what is not decided, and which intervals clusters change."""
    for contrast in comparison.headline_contrasts:
        if contrast.more_samples is not None and _is_near(comparison, contrast):
            yield (
                f"{contrast.first} and {contrast.second} are not told apart by {contrast.metric}. "
                f"If the difference is as seen, {_about(contrast.more_samples)} more samples would "
                f"decide (power {POWER:.0%})."
            )
    for contrast in comparison.contrasts:
        pair = f"{contrast.second} − {contrast.first}, {contrast.metric}"
        ends = Estimate(contrast.difference, contrast.lower, contrast.upper)
        if note := cluster_note(pair, ends, contrast.independent):
            yield note
    if comparison.margin is not None:
        for contrast in comparison.contrasts:
            word = "is not inferior to" if comparison.is_decided(contrast) else "may be inferior to"
            yield (
                f"{contrast.metric}: {contrast.second} {word} {contrast.first} by a margin of "
                f"{percent(comparison.margin)} points."
            )


_COUNTABLE = 1_000_000
"""More samples than this are not counted: the difference is practically none."""


def _about(count: int) -> str:
    """A number of samples, rounded to two digits."""
    if count > _COUNTABLE:
        return f"more than {_COUNTABLE:,}"
    return f"about {round(count, 2 - len(str(count))):,}"


def _is_near(comparison: Comparison, contrast: Contrast) -> bool:
    """Whether two runs are next to each other in the ranking."""
    order = [name for name, _ in comparison.ranking()]
    return abs(order.index(contrast.first) - order.index(contrast.second)) == 1


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
    tests = len(comparison.contrasts)
    correction = "There is one test, so its p-value needs no correction."
    if tests > 1:
        correction = f"Holm's correction is over all {tests} tests."
    clusters = ""
    if comparison.clusters < comparison.samples:
        clusters = f" of {comparison.clusters:,} clusters"
    if comparison.margin is None:
        how = (
            "Shares of independent samples are tested by McNemar's exact test, all else by a "
            "permutation test that exchanges the runs in whole clusters, both two-sided."
        )
    else:
        how = (
            "p-values are one-sided, of the hypothesis that the second run is worse by the margin "
            f"of {percent(comparison.margin)} points or more."
        )
    return (
        f"{one_line(first.eval)}, version {first.version}, {one_line(first.data)}, "
        f"{comparison.reading} reading: {comparison.samples:,} paired samples{clusters}.{left_out} "
        "Metrics are in percent. Differences have 95% intervals: Newcombe's for shares, else from "
        f"{comparison.resamples:,} paired resamples of clusters. 'only A' counts the samples that "
        f"only run A has right. {how} {correction}"
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
            "clusters": comparison.clusters,
            "margin": comparison.margin,
            "ranking": comparison.ranking(),
            "not_told_apart": comparison.tied_groups(),
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
    parts += [f"{markdown_text(note)}\n" for note in comparison_notes(comparison)]
    for table in tables:
        parts += [f"{markdown_text(table.title)}:\n"] if table.title else []
        parts.append(markdown_table(table.headings, table.rows))
    return "\n".join(parts)
