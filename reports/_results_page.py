"""The page of results: recorded outputs beside published numbers, runs made here, what is left."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from math import nan
from pathlib import Path

from misstep.registry import PublishedResult, PublishedTable, price_of, published, records, sizes
from misstep.reports._board import board_table, public_model
from misstep.reports._comparison import LETTER, group_letters
from misstep.reports._leaderboard import leaderboard_metrics, metric_name
from misstep.reports._read_runs import read_log
from misstep.reports._reference import PUBLISHED, ComparedFigure, RecordedRuns, model_of
from misstep.reports._run_groups import Benchmark, benchmarks
from misstep.reports._runs import ANSWERS, Run
from misstep.reports._text import (
    UNDEFINED,
    csv_text,
    dollars,
    markdown_table,
    markdown_text,
    page_file,
    with_interval,
)
from misstep.rewards import AGGREGATIONS, THRESHOLD

_PRICED = "openai/gpt-4o"
"""The model whose price stands for an expected cost."""


def results_files(
    recorded: Sequence[RecordedRuns], runs: Sequence[Run], page: Path
) -> dict[Path, bytes]:
    """Return the page, and beside it a folder with its figures as CSV and its summary."""
    summary = markdown_table(*_summary(recorded))
    parts = [
        page_file("results.md").format(version=version("misstep"), inspect=version("inspect-ai")),
        summary,
    ]
    for one in recorded:
        parts += [f"## {markdown_text(one.facts.title)}\n", *_record_parts(one)]
    if runs:
        parts += ["## Small models, run here\n", page_file("small_models.md")]
    for benchmark in benchmarks(runs):
        parts += [f"### {markdown_text(benchmark.key)}\n", board_table(benchmark)]
    parts += _weights(runs)
    figures = [figure for one in recorded for figure in one.figures]
    if not figures:
        return {page: "\n".join(parts).encode()}
    parts += [page_file("reproduction.md"), *_reproduction(figures)]
    folder = page.parent / page.stem
    return {
        page: "\n".join(parts).encode(),
        folder / "figures.csv": csv_text([one.row() for one in figures]).encode(),
        folder / "summary.txt": summary.encode(),
    }


def _summary(recorded: Sequence[RecordedRuns]) -> tuple[list[str], list[list[object]]]:
    """Return one line for each set of records: how many numbers agree, and which runs differ."""
    headings = [
        *("records", "models", "best", "numbers compared", "difference"),
        "neighbours told apart",
    ]
    rows: list[list[object]] = []
    for one in recorded:
        same = [figure for figure in one.figures if figure.same_rows]
        parts = [figure for figure in one.figures if not figure.same_rows]
        told = UNDEFINED
        if len(one.runs) > 1:
            decided = neighbours(one.runs)
            told = f"{sum(decided)} of {len(decided)}"
        difference = UNDEFINED
        if same:
            largest = max(abs(figure.difference) for figure in same)
            difference = f"at most {largest:.2f}"
        elif parts:
            at_default = [one for one in parts if one.rule == f"threshold {THRESHOLD:g}"]
            inside = sum(figure.inside for figure in at_default)
            difference = (
                f"other rows: {inside} of {len(at_default)} inside the interval at {THRESHOLD:g}"
            )
        rows.append(
            [one.facts.title, len(one.runs), _best(one.runs), len(one.figures), difference, told]
        )
    return headings, rows


def _best(runs: Sequence[Run]) -> str:
    """Return the best run by the first metric of its leaderboard.

    If the runs have several leaderboards, because their rows differ, it is that of the longest one.
    """
    found = benchmarks(runs)
    longest = max(found, key=lambda one: len(one.runs))
    metric = leaderboard_metrics(longest)[0]
    values = {run.id: run.metrics[run.scorer()] for run in longest.runs}
    best = max(longest.runs, key=lambda run: values[run.id][metric])
    value, *ends = (values[best.id].get(f"{metric}{end}", nan) for end in ("", "_lower", "_upper"))
    of = f" (of {len(longest.runs)} runs with the same rows)" if len(found) > 1 else ""
    return f"{model_of(best)}, {metric_name(metric)} {with_interval(value, ends[0], ends[1])}{of}"


def neighbours(runs: Sequence[Run]) -> list[bool]:
    """Return for each pair of neighbours in a ranking whether a test tells them apart."""
    decided: list[bool] = []
    for benchmark in benchmarks(runs):
        letters = group_letters(benchmark.runs, leaderboard_metrics(benchmark)[0])
        groups = [set(re.findall(LETTER, own)) for own in letters.values()]
        decided += [one.isdisjoint(other) for one, other in pairwise(groups)]
    return decided


def _record_parts(recorded: RecordedRuns) -> Iterator[str]:
    yield f"Records: {markdown_text(recorded.facts.origin)}.\n"
    found = benchmarks(recorded.runs)
    for benchmark in found:
        if len(found) > 1:
            yield f"### {markdown_text(benchmark.key)}\n"
        yield _best_of_n_table(benchmark) if benchmark.kind == ANSWERS else board_table(benchmark)
    if recorded.thresholds:
        yield _threshold_table(recorded)
    if recorded.figures:
        yield _figures_table(recorded.figures)
    yield "".join(f"- {markdown_text(note)}\n" for note in recorded.facts.notes)


def _weights(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line on the weights of each model that ran in the process."""
    known: dict[str, str] = {}
    for run in runs:
        if run.model.startswith("embedded/"):
            log = read_log(run.location, header_only=True)
            name, digest = public_model(log)
            known[name] = digest or UNDEFINED
    if known:
        yield "".join(f"- {markdown_text(name)}: sha256 `{one}`\n" for name, one in known.items())


def _best_of_n_table(benchmark: Benchmark) -> str:
    """Return the accuracy of each reward model by aggregation, with majority and oracle."""
    groups = group_letters(benchmark.runs, leaderboard_metrics(benchmark)[0])
    [scorer] = {run.scorer() for run in benchmark.runs}

    def cell(run: Run, name: str) -> str:
        values = run.metrics[scorer]
        value, *ends = (values[f"{name}_accuracy{end}"] for end in ("", "_lower", "_upper"))
        return with_interval(value, ends[0], ends[1])

    ranked = sorted(benchmark.runs, key=lambda run: -run.metrics[scorer]["last_accuracy"])
    rows = [
        [model_of(run), groups[run.id], *(cell(run, name) for name in AGGREGATIONS)]
        for run in ranked
    ]
    for name in ("majority", "oracle"):
        rows.append([name, UNDEFINED, cell(ranked[0], name), *[""] * (len(AGGREGATIONS) - 1)])
    return markdown_table(["reward model", "group (last)", *AGGREGATIONS], rows)


def _threshold_table(recorded: RecordedRuns) -> str:
    rows = []
    for model, tuned in recorded.thresholds.items():
        for name, subset in tuned.subsets.items():
            estimates = (
                subset.curve.at(THRESHOLD).f1_score,
                subset.tuned.f1_score,
                subset.curve.steps.auroc,
                subset.curve.steps.average_precision,
            )
            default, best, auroc, ap = (with_interval(e.value, e.lower, e.upper) for e in estimates)
            rows.append([model, name, default, f"{subset.threshold:.3g}", best, auroc, ap])
    headings = ["model", "subset", f"F1 at {THRESHOLD:g}", "tuned threshold", "F1 tuned"]
    return markdown_table([*headings, "AUROC of steps", "AP of wrong steps"], rows)


def _figures_table(figures: Sequence[ComparedFigure]) -> str:
    rows = [
        [
            one.model,
            one.metric,
            one.rule,
            f"{one.rows:,}" if one.same_rows else f"{one.rows:,} of {one.of:,}",
            f"{one.known:g}",
            one.known_from,
            with_interval(one.value / 100, one.lower / 100, one.upper / 100),
            f"{one.difference:+.2f}" + ("" if one.same_rows else " (other rows)"),
        ]
        for one in figures
    ]
    headings = ["model", "metric", "rule", "rows", "their number", "from", "ours", "difference"]
    return markdown_table(headings, rows)


@dataclass(frozen=True)
class MissingNumbers:
    """Numbers of a published table that were not computed again, and what they need."""

    table: str
    protocol: str
    models: int
    numbers: int
    command: str | None
    samples: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def price(self) -> float | None:
        """The expected cost of one model in dollars, at the price of a common model."""
        price = price_of(_PRICED)
        if price is None or self.command is None or "prm/" in self.command:
            return None
        tokens = self.prompt_tokens * price.input + self.completion_tokens * price.output
        return tokens / 1_000_000


def _reproduction(figures: Sequence[ComparedFigure]) -> Iterator[str]:
    by_table: dict[str, dict[tuple[str, str], ComparedFigure]] = {}
    for figure in figures:
        facts = records()[figure.record]
        if figure.known_from == PUBLISHED and facts.table is not None:
            name = facts.names.get(figure.model, figure.model)
            by_table.setdefault(facts.table, {}).setdefault((name, figure.metric), figure)
    rows = []
    for name, table in published().items():
        found = by_table.get(name, {})
        same = sum(figure.same_rows for figure in found.values())
        total = sum(_numbers(result) for result in table.results.values())
        how = ", ".join(sorted({one.record for one in found.values()})) or UNDEFINED
        rows.append([name, total, same, len(found) - same, total - len(found), how])
    headings = ["published table", "numbers", "same rows", "part of the rows", "not yet", "records"]
    yield markdown_table(headings, rows)
    yield page_file("missing.md").format(model=_PRICED)
    yield markdown_table(
        [
            "published table",
            "protocol",
            "models",
            "numbers",
            "tokens",
            "cost of one model",
            "command",
        ],
        [
            [
                one.table,
                one.protocol,
                one.models,
                one.numbers,
                f"{one.prompt_tokens / 1e6:.1f}M in, {one.completion_tokens / 1e6:.1f}M out"
                if one.command
                else UNDEFINED,
                dollars(one.price),
                one.command or "none: misstep has no such protocol",
            ]
            for one in missing_numbers({table: set(found) for table, found in by_table.items()})
        ],
    )


def _numbers(result: PublishedResult) -> int:
    """Return how many numbers a row of a published table has."""
    cells = [
        value
        for cell in result.subsets.values()
        for value in (cell.error, cell.correct, cell.f1)
        if value is not None
    ]
    overall = 3 if result.overall else 0
    return len(result.metrics) + len(cells) + overall + (result.mean_f1 is not None)


def missing_numbers(found: dict[str, set[tuple[str, str]]]) -> Iterator[MissingNumbers]:
    """Yield what the numbers need that were not found, by table and protocol."""
    for name, table in published().items():
        for protocol in table.protocols:
            own = {m: r for m, r in table.results.items() if r.protocol == protocol}
            numbers = {
                model: _numbers(result) - sum(known[0] == model for known in found.get(name, ()))
                for model, result in own.items()
            }
            numbers = {model: count for model, count in numbers.items() if count}
            if not numbers:
                continue
            samples, prompt, completion = _expected(table)
            command = table.commands.get(protocol)
            prompt, completion = (table.factors.get(protocol, 1) * n for n in (prompt, completion))
            votes = 8 if command and "votes=8" in command else 1
            # A reward model writes no text.
            votes = 0 if command and "critic=reward" in command else votes
            yield MissingNumbers(
                *(name, protocol, len(numbers), sum(numbers.values()), command, samples),
                *(prompt, votes * completion),
            )


def _expected(table: PublishedTable) -> tuple[int, int, int]:
    """Return samples, prompt tokens and completion tokens of one run, as the registry has them."""
    known = sizes()
    size = known.get(f"{table.eval}.{table.data}") or known[table.eval]
    return size.samples, size.prompt_tokens, size.completion_tokens
