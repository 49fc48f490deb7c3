"""The study as a page of Markdown with its pictures and its data."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import PurePosixPath

from inspect_ai.log import EvalLog

from misstep.generator import VERSION
from misstep.reports._charts import drawn
from misstep.reports._samples import (
    ON_CORRECT,
    ON_ERRORS,
    SCORER,
    Finding,
    Judged,
    judged_samples,
)
from misstep.reports._study import DIMENSIONS, Cell, cells, critics_of, dependence
from misstep.reports._study_charts import findings_chart, rates_chart
from misstep.samples import third_of

FOLDER = "study"
"""Of the pictures and the data, beside the page."""

Row = dict[str, object]


@dataclass(frozen=True)
class Judgements:
    """One critic's run."""

    critic: str
    log: EvalLog


@dataclass(frozen=True)
class Study:
    """What the study found."""

    page: str
    pictures: dict[PurePosixPath, bytes]
    figures: list[Row]
    samples: list[Row]


def study_of(runs: Sequence[Judgements], command: str) -> Study:
    """Make the study of some finished runs on the same generated rows.

    Args:
        runs: The runs.
        command: What the user wrote to have it.
    """
    table = [judged for run in runs for judged in judged_samples(run.log, run.critic)]
    found = {dimension.name: cells(table, dimension) for dimension in DIMENSIONS}
    critics = critics_of(table)
    pictures = {
        _picture(dimension.name): drawn(
            rates_chart(found[dimension.name], dimension, critics), "svg"
        )
        for dimension in DIMENSIONS
    }
    for name, errors in (("errors", True), ("correct", False)):
        pictures[_picture(name)] = drawn(findings_chart(table, errors), "svg")
    return Study(
        page=_page(runs, table, found, command),
        pictures=pictures,
        figures=[_figure(cell) for of_dimension in found.values() for cell in of_dimension],
        samples=[_sample(judged) for judged in table],
    )


def _picture(name: str) -> PurePosixPath:
    return PurePosixPath(FOLDER, f"{name}.svg")


def _page(
    runs: Sequence[Judgements],
    table: Sequence[Judged],
    found: dict[str, list[Cell]],
    command: str,
) -> str:
    spec = runs[0].log.eval
    critics = critics_of(table)
    return TEMPLATE.format(
        command=command,
        version=VERSION,
        arguments=", ".join(
            f"`{name}={spec.task_args[name]}`"
            for name in ROWS
            if spec.task_args.get(name) is not None
        ),
        days=" and ".join(sorted({run.log.eval.created[:10] for run in runs})),
        inspect=spec.packages["inspect_ai"],
        results="\n".join(_results(runs)),
        said="\n".join(f"- {_said(critic, table)}" for critic in critics),
        plots="\n\n".join(f"![{d.title}]({_picture(d.name)})" for d in DIMENSIONS),
        dependences="\n".join(_dependences(found, critics)),
        folder=FOLDER,
    )


TEMPLATE = """\
# Study: who finds the first error, and where

First-error detection on generated solutions ([Procedural](procedural.md)), by baselines that call
no model and by models. The page, its plots and its data are made from Inspect's logs by one
command:

```bash
{command}
```

Rows: generator {version}, {arguments}. Run on {days} with inspect_ai {inspect}.

## Results

{results}

Percent, with 95% intervals: Wilson's for accuracies, a bootstrap over rows for F1. *Unparsed* and
*truncated* answers hold no verdict and count as wrong.

## What is said

{said}

![What every critic says of rows with an error]({folder}/errors.svg)

![What every critic says of rows without an error]({folder}/correct.svg)

## What detection depends on

A first error is found where the verdict is exactly its step. Lines are Wilson's 95% intervals.

{plots}

## Does it matter?

How often chance alone would make the groups of a plot differ as much as they do: p-values of a
permutation test, and a dash where all rows were judged alike. With so many tests, one in twenty is
below 0.05 by chance. What is plotted hangs together: an early error has more steps that can depend
on it, and a long solution more places for one.

{dependences}

## Data

[figures.csv]({folder}/figures.csv) has every point of the plots, with its interval and with what
else was said. [samples.csv]({folder}/samples.csv) has every row and every verdict.
"""

ROWS = (
    "seed",
    "n",
    "steps",
    "position",
    "error_types",
    "families",
    "difficulty",
    "correct_share",
    "domain",
)
"""The arguments that decide what is asked."""


def _results(runs: Sequence[Judgements]) -> Iterator[str]:
    yield "| critic | rows | error accuracy | correct accuracy | F1 | unparsed | truncated |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for run in runs:
        figures = _metrics(run.log)
        with_interval = (
            _interval(*(figures[f"{name}{end}"] for end in ("", "_lower", "_upper")))
            for name in ("error_accuracy", "correct_accuracy", "f1_score")
        )
        shares = (_percent(figures[name]) for name in ("unparsed", "truncated"))
        rows = f"{figures['total_count']:.0f}"
        yield f"| {' | '.join((run.critic, rows, *with_interval, *shares))} |"


def _metrics(log: EvalLog) -> dict[str, float]:
    scores = log.results.scores if log.results else []
    return {
        name: metric.value
        for score in scores
        if score.name == SCORER
        for name, metric in score.metrics.items()
    }


def _said(critic: str, table: Sequence[Judged]) -> str:
    own = [judged for judged in table if judged.critic == critic]
    errors = Counter(judged.finding for judged in own if judged.has_error)
    correct = Counter(judged.finding for judged in own if not judged.has_error)
    of_errors = _shares(errors, ON_ERRORS, ERROR_PHRASES)
    of_correct = _shares(correct, ON_CORRECT, CORRECT_PHRASES)
    return (
        f"**{critic}**, {errors.total()} rows with an error: {of_errors}. "
        f"{correct.total()} rows without: {of_correct}. {_commonest(own)}"
    )


def _commonest(own: Sequence[Judged]) -> str:
    """Whether a critic says much the same of all rows."""
    verdicts = Counter(judged.verdict for judged in own if judged.verdict is not None)
    if not verdicts:
        return "No verdict of it could be read."
    [(verdict, count)] = verdicts.most_common(1)
    return f"Its commonest verdict is {verdict}, in {_percent(count / len(own))}% of all rows."


ERROR_PHRASES: dict[Finding, str] = {
    "exact": "finds the first error in",
    "early": "names an earlier step in",
    "late": "names a later step in",
    "missed": "says that there is none in",
    "out_of_range": "names a step that is not there in",
    "unread": "gives no readable verdict in",
}

CORRECT_PHRASES: dict[Finding, str] = {
    "right": "says so in",
    "false_alarm": "raises a false alarm in",
    "out_of_range": "names a step that is not there in",
    "unread": "gives no readable verdict in",
}


def _shares(
    counts: Counter[Finding], findings: Sequence[Finding], phrases: dict[Finding, str]
) -> str:
    return ", ".join(
        f"{phrases[finding]} {_percent(counts[finding] / counts.total())}%"
        for finding in findings
        if counts[finding]
    )


def _dependences(found: dict[str, list[Cell]], critics: Sequence[str]) -> Iterator[str]:
    yield f"| critic | {' | '.join(dimension.name.replace('_', ' ') for dimension in DIMENSIONS)} |"
    yield f"| --- |{' ---: |' * len(DIMENSIONS)}"
    for critic in critics:
        values = (dependence(found[dimension.name], critic) for dimension in DIMENSIONS)
        yield f"| {critic} | {' | '.join(_p(value) for value in values)} |"


def _p(value: float) -> str:
    return "–" if isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _percent(value: float) -> str:
    return "undefined" if isnan(value) else f"{100 * value:.1f}"


def _interval(value: float, lower: float, upper: float) -> str:
    return (
        _percent(value)
        if isnan(lower)
        else (f"{_percent(value)} [{_percent(lower)}, {_percent(upper)}]")
    )


def _figure(cell: Cell) -> Row:
    rate = cell.rate
    return {
        "dimension": cell.dimension,
        "group": cell.group,
        "critic": cell.critic,
        "rows": cell.rows,
        "rate": rate.value,
        "lower": rate.lower,
        "upper": rate.upper,
        **{f: cell.findings[f] for f in dict.fromkeys((*ON_ERRORS, *ON_CORRECT))},
    }


def _sample(judged: Judged) -> Row:
    known = judged.metadata
    return {
        "critic": judged.critic,
        "id": judged.id,
        "family": known["family"],
        "length": known["length"],
        "label": judged.label,
        "third": third_of(judged.label, int(known["length"])) if judged.has_error else None,
        **{name: known[name] for name in ("error_type", "outcome", "dependants")},
        "verdict": judged.verdict,
        "finding": judged.finding,
        "unread": judged.unread,
    }
