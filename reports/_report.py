"""A report on logs as one HTML page that needs no network, with one section per benchmark.

Text from logs is never trusted: the template escapes it, or it is in the page as JSON and shown as
text. The page may run only its own scripts, named by their hashes, and may load nothing.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, get_args

from misstep.registry import evals
from misstep.reports import _breakdowns as breakdowns, _report_charts as charts
from misstep.reports._frames import FrameRow, run_labels, runs_frame
from misstep.reports._leaderboard import (
    METRIC_NAMES,
    Benchmark,
    benchmarks,
    leaderboard,
    leaderboard_metrics,
    metric_name,
    ranking_metric,
)
from misstep.reports._recovery import (
    GROUPING_TITLES as RECOVERY_TITLES,
    RecoveryGrouping,
    recovery_frame,
)
from misstep.reports._runs import ANSWERS, SCORERS, Logs, Run, SkippedLog
from misstep.reports._text import dollars, page_file, percent, script_hash, to_json

if TYPE_CHECKING:
    import pandas

VIEWER = "http://127.0.0.1:7575"
"""The default address of `inspect view`."""


@dataclass(frozen=True)
class ReportSection:
    """The leaderboard, charts and samples of one benchmark."""

    title: str
    about: str
    metrics: list[str]
    rows: list[FrameRow]
    charts: list[charts.ReportChart]
    samples: dict[str, Any]
    """The samples with the answers of all runs, as data for the page."""


@dataclass(frozen=True)
class Report:
    """The content of a report page."""

    runs: list[FrameRow]
    sections: list[ReportSection]
    skipped: list[SkippedLog]


def build_report(logs: Logs, reading: str = "strict") -> Report:
    """Compute all tables and charts of a report.

    Args:
        logs: The runs and skipped logs.
        reading: The reading of the scores. Runs without it are read strictly.
    """
    return Report(
        runs_frame(logs.runs).to_dict("records"),
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
        metrics=metrics,
        rows=table.to_dict("records"),
        charts=[
            charts.leaderboard_chart(table, headline, metric_name(headline)),
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


def _charts(benchmark: Benchmark, reading: str) -> Iterator[charts.ReportChart]:
    runs = benchmark.runs
    if benchmark.kind == "recovery":
        for grouping in get_args(RecoveryGrouping):
            rates = recovery_frame(runs, grouping, reading)
            yield charts.recovery_rates_chart(rates, RECOVERY_TITLES[grouping])
        return
    if benchmark.kind == "first_error":
        verdicts = breakdowns.findings(runs, reading)
        for solutions in dict.fromkeys(verdicts["solutions"]):
            yield charts.findings_chart(verdicts, solutions)
        yield charts.confusion_chart(breakdowns.confusion(runs, reading))
    for by in breakdowns.groupings(runs):
        table = breakdowns.accuracy_by(runs, by, reading)
        metric = _best_metric(table)
        title = breakdowns.grouping_name(by)
        yield charts.grouped_chart(table, by, metric, title, METRIC_NAMES[metric])
    votes = breakdowns.votes_curve(runs, reading)
    if len(votes):
        metric = _best_metric(votes)
        yield charts.votes_chart(votes, metric, METRIC_NAMES[metric])
    rewards = breakdowns.calibration(runs, reading)
    if len(rewards):
        yield charts.calibration_chart(rewards)
    if benchmark.kind == ANSWERS:
        used = breakdowns.budget(runs, reading)
        for what in ("tokens", "calls"):
            if used[f"{what}_a_sample"].any():
                yield charts.budget_chart(used, what)


def _best_metric(table: "pandas.DataFrame") -> str:
    """The first metric with values: F1 needs samples with and without an error in a group."""
    return next(
        name
        for name in ("f1_score", "error_accuracy", "correct_accuracy", "accuracy")
        if name in table and table[name].notna().any()
    )


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
    return {"runs": [{"name": labels[run.id], "file": run.file} for run in runs], "rows": rows}


def report_page(report: Report, place: str, viewer: str = VIEWER) -> str:
    """Return the page as HTML.

    Args:
        report: The content.
        place: The folder of the logs, as for `inspect view --log-dir`.
        viewer: The address of the log viewer.
    """
    import vl_convert
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # The default snippet of the bundle exports the libraries to the page's own script.
    library: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    scripts = [library.replace("</script", "<\\/script"), page_file("page.js")]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'unsafe-inline'; script-src {' '.join(map(script_hash, scripts))}"
    )
    environment = Environment(
        loader=PackageLoader("misstep.reports", "page"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["metric_name"] = metric_name
    return environment.get_template("report.html").render(
        report=report,
        place=place,
        viewer=viewer.rstrip("/"),
        policy=policy,
        scripts=scripts,
        style=page_file("page.css"),
        json=_script_json,
        chart_data=_chart_data,
        percent=percent,
        dollars=dollars,
        version=version("misstep"),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _script_json(content: Any) -> str:  # noqa: ANN401
    """JSON that is safe in a script element: it cannot end the script or start a comment."""
    text = json.dumps(to_json(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _chart_data(chart: charts.ReportChart) -> dict[str, Any]:
    """The description of a chart, and its data as a table."""
    table = chart.table.astype(object)
    rows: list[list[Any]] = table.where(chart.table.notna(), None).to_numpy().tolist()
    return {"spec": chart.spec, "columns": list(chart.table.columns), "rows": rows}
