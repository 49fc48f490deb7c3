"""A comparison as a table for people, and as JSON for programs."""

from collections.abc import Iterator

from misstep.reports._compare import Comparison, Contrast
from misstep.reports._written import (
    json_text,
    markdown_table,
    markdown_text,
    one_line,
    p_text,
    percent,
    with_interval,
)

HEADINGS = ("figure", "pair", "first", "second", "difference", "one right", "p", "Holm")


def contrast_cells(contrast: Contrast) -> list[str]:
    """A contrast as the cells of a table, in percent."""
    one = "" if contrast.only_first is None else f"{contrast.only_first} : {contrast.only_second}"
    return [
        contrast.figure,
        f"{contrast.second} − {contrast.first}",
        percent(contrast.first_value),
        percent(contrast.second_value),
        with_interval(contrast.difference, contrast.lower, contrast.upper, signed=True),
        one,
        p_text(contrast.p),
        p_text(contrast.p_holm),
    ]


def run_lines(comparison: Comparison) -> Iterator[str]:
    """Which run has which letter."""
    for letter, run in comparison.runs.items():
        yield f"{letter}: {one_line(run.name)}, {one_line(run.protocol)} ({one_line(run.file)})"


def differing_headings(comparison: Comparison) -> list[str]:
    """The headings of the table of samples on which runs differ."""
    return ["sample", "subset", "target", *comparison.runs]


def differing_cells(comparison: Comparison, show: int) -> Iterator[list[str]]:
    """The samples on which runs differ, with a mark on the right answers."""
    for sample in comparison.differing[:show]:
        answers = [
            f"{'none' if answer is None else one_line(answer)}{' ✓' if hit == 1 else ''}"
            for answer, hit in zip(sample.answers, sample.hits, strict=True)
        ]
        yield [one_line(sample.id), one_line(sample.subset), one_line(sample.target), *answers]


def method(comparison: Comparison) -> str:
    """How the figures were made."""
    first = next(iter(comparison.runs.values()))
    left_out = (
        f" {comparison.left_out:,} samples that not all runs have a score for are left out."
        if comparison.left_out
        else ""
    )
    pairs = len(comparison.runs) * (len(comparison.runs) - 1) // 2
    return (
        f"{one_line(first.eval)}, version {first.version}, {one_line(first.data)}, "
        f"{comparison.reading} reading: {comparison.samples:,} paired samples.{left_out} "
        f"Figures in percent, differences with 95% intervals of {comparison.resamples:,} paired "
        "resamples. Shares of samples are tested by McNemar's exact test on the samples that only "
        "one run has right, other figures by the paired bootstrap; Holm's correction is over the "
        f"{pairs} pair{'s' * (pairs > 1)} for each figure."
    )


def as_json(comparison: Comparison) -> str:
    """Everything, as JSON; fractions, and null where undefined."""
    return json_text(
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
            "contrasts": comparison.contrasts,
            "differing": comparison.differing,
        }
    )


def as_markdown(comparison: Comparison, show: int) -> str:
    """The tables, in Markdown."""
    parts = [
        "\n".join(f"- {markdown_text(line)}" for line in run_lines(comparison)) + "\n",
        markdown_text(method(comparison)) + "\n",
        markdown_table(HEADINGS, map(contrast_cells, comparison.contrasts)),
    ]
    if show and comparison.differing:
        parts += [
            f"{len(comparison.differing):,} samples on which they differ"
            + (f", the first {show}:\n" if len(comparison.differing) > show else ":\n"),
            markdown_table(differing_headings(comparison), differing_cells(comparison, show)),
        ]
    return "\n".join(parts)
