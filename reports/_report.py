"""The content of a report: tables, charts and samples of some logs, one section per benchmark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, get_args

from misstep.registry import evals
from misstep.reports._breakdowns import (
    accuracy_by,
    budget,
    calibration,
    confusion,
    findings,
    groupings,
    votes_curve,
)
from misstep.reports._frames import run_labels, runs_frame
from misstep.reports._leaderboard import (
    METRIC_NAMES,
    Benchmark,
    benchmarks,
    leaderboard,
    leaderboard_metrics,
    metric_name,
    ranking_metric,
)
from misstep.reports._recovery import GROUPING_TITLES as RECOVERY_TITLES
from misstep.reports._recovery import RecoveryGrouping, recovery_frame
from misstep.reports._report_charts import (
    ReportChart,
    budget_chart,
    calibration_chart,
    confusion_chart,
    findings_chart,
    grouped_chart,
    leaderboard_chart,
    recovery_rates_chart,
    votes_chart,
)
from misstep.reports._runs import ANSWERS, SCORERS, Logs, Run, SkippedLog
from misstep.reports._text import UNDEFINED, dollars, percent

if TYPE_CHECKING:
    import pandas

GROUPING_TITLES = {
    "error_position": "position of the error",
    "relative_position": "relative position of the error",
    "length": "number of steps",
    "error_type": "type of error",
    "task_l2": "topic",
    "outcome": "consequence of the error",
}


@dataclass(frozen=True)
class ReportCell:
    """A cell of a table: its text, its value for sorting, and an interval to draw."""

    text: str
    value: float | str | None = None
    note: str = ""
    interval: tuple[float, float, float] | None = None
    """Lower end, value and upper end, from 0 to 100."""
    badge: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table of the page."""

    headings: list[str]
    rows: list[list[ReportCell]]
    published: list[bool]
    """For each row, whether it is a published result."""


@dataclass(frozen=True)
class ReportSection:
    """The leaderboard, charts and samples of one benchmark."""

    title: str
    about: str
    table: ReportTable
    charts: list[ReportChart]
    samples: dict[str, Any]
    """The samples with the answers of all runs, as data for the page."""


@dataclass(frozen=True)
class Report:
    """The content of a report page."""

    runs: ReportTable
    sections: list[ReportSection]
    skipped: list[SkippedLog]


def build_report(logs: Logs, reading: str = "strict") -> Report:
    """Compute all tables and charts of a report.

    Args:
        logs: The runs and skipped logs.
        reading: The reading of the scores. Runs without it are read strictly.
    """
    return Report(
        _runs_table(runs_frame(logs.runs)) if logs.runs else ReportTable([], [], []),
        [_section(benchmark, reading) for benchmark in benchmarks(logs.runs)],
        logs.skipped,
    )


def _section(benchmark: Benchmark, reading: str) -> ReportSection:
    kinds = {run.kind for run in benchmark.runs}
    known = all(reading in SCORERS.get(kind, ("strict",)) for kind in kinds)
    reading = reading if known else "strict"
    metrics = leaderboard_metrics(benchmark, reading)
    headline = ranking_metric(benchmark, metrics)
    metrics.sort(key=lambda metric: metric != headline)
    benchmark = _best_first(benchmark, headline, reading)
    table = leaderboard(benchmark, reading)
    return ReportSection(
        title=benchmark.key,
        about=_description(benchmark),
        table=_leaderboard_table(table, metrics),
        charts=[
            leaderboard_chart(table, headline, metric_name(headline)),
            *_charts(benchmark, reading),
        ],
        samples=_samples(benchmark.runs, reading),
    )


def _description(benchmark: Benchmark) -> str:
    """The registry's description of the eval, or of the variant if all runs are of one."""
    tasks = {run.task for run in benchmark.runs}
    for name, entry in evals().items():
        words = {name: entry.description}
        words |= {f"{name}.{variant}": v.description for variant, v in entry.variants.items()}
        if tasks & words.keys():
            return words[tasks.pop()] if len(tasks) == 1 else entry.description
    return ""


def _best_first(benchmark: Benchmark, metric: str, reading: str) -> Benchmark:
    def rank(run: Run) -> float:
        value = run.metrics[run.scorer(reading)].get(metric, nan)
        return inf if isnan(value) else -value

    return replace(benchmark, runs=sorted(benchmark.runs, key=rank))


def _charts(benchmark: Benchmark, reading: str) -> Iterator[ReportChart]:
    runs = benchmark.runs
    if benchmark.kind == "recovery":
        for grouping in get_args(RecoveryGrouping):
            rates = recovery_frame(runs, grouping, reading)
            yield recovery_rates_chart(rates, RECOVERY_TITLES[grouping])
        return
    if benchmark.kind == "first_error":
        verdicts = findings(runs, reading)
        for solutions in dict.fromkeys(verdicts["solutions"]):
            yield findings_chart(verdicts, solutions)
        yield confusion_chart(confusion(runs, reading))
    for by in groupings(runs):
        table = accuracy_by(runs, by, reading)
        metric = _best_metric(table)
        title = GROUPING_TITLES.get(by, by.replace("_", " "))
        yield grouped_chart(table, by, metric, title, METRIC_NAMES[metric])
    votes = votes_curve(runs, reading)
    if len(votes):
        metric = _best_metric(votes)
        yield votes_chart(votes, metric, METRIC_NAMES[metric])
    rewards = calibration(runs, reading)
    if len(rewards):
        yield calibration_chart(rewards)
    if benchmark.kind == ANSWERS:
        used = budget(runs, reading)
        for what in ("tokens", "calls"):
            if used[f"{what}_a_sample"].any():
                yield budget_chart(used, what)


def _best_metric(table: "pandas.DataFrame") -> str:
    """The first metric with values: F1 needs samples with and without an error in a group."""
    return next(
        name
        for name in ("f1_score", "error_accuracy", "correct_accuracy", "accuracy")
        if name in table and table[name].notna().any()
    )


def _leaderboard_table(table: "pandas.DataFrame", metrics: Sequence[str]) -> ReportTable:
    headings = ["Run", "Protocol", "Samples", *map(metric_name, metrics)]
    rows = []
    for row in table.to_dict("records"):
        samples = None if row["published"] else int(row["samples"])
        cells = [
            ReportCell(row["run"], row["run"], row["source"], badge="published" * row["published"]),
            ReportCell(row["protocol"], row["protocol"]),
            ReportCell("" if samples is None else f"{samples:,}", samples),
        ]
        rows.append(cells + [_metric_cell(row, metric) for metric in metrics])
    return ReportTable(headings, rows, [bool(published) for published in table["published"]])


def _metric_cell(row: dict[str, Any], metric: str) -> ReportCell:
    value, lower, upper = (row[f"{metric}{end}"] for end in ("", "_lower", "_upper"))
    if isnan(value):
        return ReportCell(UNDEFINED)
    if isnan(lower):
        return ReportCell(percent(value), value)
    note = f"{percent(lower)} to {percent(upper)}"
    return ReportCell(percent(value), value, note, (100 * lower, 100 * value, 100 * upper))


def _runs_table(table: "pandas.DataFrame") -> ReportTable:
    headings = [
        "Run", "Benchmark", "Samples", "Unparsed", "Truncated", "Errored", "Tokens in",
        "Tokens out", "Cost", "Seconds per sample",
    ]  # fmt: skip
    rows = [
        [
            ReportCell(row["run"], row["run"], row["file"]),
            ReportCell(f"{row['eval']} · {row['data']}", row["eval"]),
            _count_cell(row["samples"]),
            *(ReportCell(percent(row[n]), row[n]) for n in ("unparsed", "truncated", "errored")),
            _count_cell(row["input_tokens"]),
            _count_cell(row["output_tokens"]),
            ReportCell(dollars(row["cost"]), row["cost"], row["cost_source"]),
            ReportCell(
                UNDEFINED if isnan(seconds := row["seconds_a_sample"]) else f"{seconds:.2f}",
                seconds,
            ),
        ]
        for row in table.to_dict("records")
    ]
    return ReportTable(headings, rows, [False] * len(rows))


def _count_cell(number: int) -> ReportCell:
    return ReportCell(f"{number:,}", number)


def _samples(runs: Sequence[Run], reading: str) -> dict[str, Any]:
    """Every sample with the answer of each run, in a compact form."""
    labels = run_labels(runs)
    places: dict[str, int] = {}
    rows: list[list[Any]] = []
    for number, run in enumerate(runs):
        scorer = run.scorer(reading)
        for sample in run.samples:
            if sample.id not in places:
                places[sample.id] = len(rows)
                subset, text = sample.facets.get("subset", ""), sample.text[:90]
                rows.append([sample.id, subset, sample.target, text, [None] * len(runs)])
            score = sample.scores.get(scorer)
            hit = None if score is None or isnan(score.hit) else round(score.hit, 3)
            answer = (score.answer or "none")[:24] if score else "error"
            rows[places[sample.id]][4][number] = [answer, hit]
    return {
        "runs": [{"name": labels[run.id], "file": run.file} for run in runs],
        "rows": rows,
    }
