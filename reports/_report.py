"""A report on logs as one HTML page that needs no network, with one section per benchmark.

Text from logs is never trusted: the template escapes it, or it is in the page as JSON and shown as
text. The page may run only its own scripts, named by their hashes, and may load nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, get_args

from misstep.registry import evals
from misstep.reports import _breakdowns as breakdowns, _report_charts as charts
from misstep.reports._breakdowns import RECOVERY_TITLES, RecoveryGrouping, recovery_frame
from misstep.reports._charts import (
    CHOSEN,
    ChartFormat,
    ReportChart,
    chart_bytes,
    chart_config,
    chart_library,
    dark_colours,
    page_colours,
    wrapped,
)
from misstep.reports._comparison import LETTER
from misstep.reports._leaderboard import (
    METRIC_NAMES,
    best_first,
    is_tested,
    leaderboard,
    leaderboard_metrics,
    metric_name,
    ranking_metric,
)
from misstep.reports._microscope import Microscope, page_parts, start_microscope
from misstep.reports._read_runs import Logs, SkippedLog, no_garbage_collection
from misstep.reports._run_groups import Benchmark, benchmarks, checkpoints
from misstep.reports._runs import ANSWERS, SCORERS, FrameRow, Run, runs_frame
from misstep.reports._step_rewards import (
    BIASES,
    StepFeatures,
    labelled_steps,
    reward_by,
    skill_left,
)
from misstep.reports._text import (
    csv_text,
    dollars,
    file_name,
    page_file,
    percent,
    script_hash,
    to_json,
)

if TYPE_CHECKING:
    import pandas

FIGURE_WIDTH = 460
"""Pixels of the plot of a figure, without its labels."""
FIGURE_FORMATS: tuple[ChartFormat, ...] = ("pdf", "svg")

VIEWER = "http://127.0.0.1:7575"
"""The default address of `inspect view`."""


@dataclass(frozen=True)
class ReportSection:
    """The leaderboard, charts and samples of one benchmark."""

    title: str
    about: str
    shared: str
    """How all runs were asked, if they were asked alike."""
    apart: Sequence[str]
    """Why other runs of the eval are not on this leaderboard."""
    metrics: list[str]
    rows: list[FrameRow]
    tested: bool
    """Whether the ranked runs were tested against each other."""
    charts: list[ReportChart]
    samples: Microscope

    @property
    def published(self) -> int:
        """The number of published results."""
        return sum(bool(row["published"]) for row in self.rows)

    @property
    def has_ties(self) -> bool:
        """Whether some runs cannot be told apart."""
        return any(any(row["bars"]) for row in self.rows)


@dataclass(frozen=True)
class Report:
    """The content of a report page."""

    runs: list[FrameRow]
    sections: list[ReportSection]
    skipped: list[SkippedLog]


def load_libraries() -> None:
    """Import what charts need, and make the script that draws them. Both take seconds."""
    chart_library()
    _drawing_script()


@cache
def _drawing_script() -> str:
    """The libraries that draw charts in a browser, as a script."""
    import vl_convert

    # The default snippet of the bundle exports the libraries to the page's own script.
    library: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return library.replace("</script", "<\\/script")


@no_garbage_collection()
def build_report(logs: Logs, reading: str = "strict", by: str | None = None) -> Report:
    """Compute all tables and charts of a report.

    Args:
        logs: The runs and skipped logs.
        reading: The reading of the scores. Runs without it are read strictly.
        by: A tag of runs, such as the step of a checkpoint, that becomes the axis of a curve.
    """
    rows = runs_frame(logs.runs).to_dict("records")
    for row, run in zip(rows, logs.runs, strict=True):
        row["settings"] = run.protocol
    return Report(rows, [_section(one, reading, by) for one in benchmarks(logs.runs)], logs.skipped)


def figure_files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Yield every chart of a report as PDF, SVG and CSV: the path of the file, and its content.

    A chart with a menu of runs becomes one picture for each run.
    """
    library = chart_library()
    for section in report.sections:
        for chart in section.charts:
            path = f"{file_name(section.title)}/{chart.name}"
            for ending, spec in figure_specs(chart):
                figure = library.Chart.from_dict(spec)
                for form in FIGURE_FORMATS:
                    yield f"{path}{ending}.{form}", chart_bytes(figure, form)
            rows = chart.table.astype(object).where(chart.table.notna(), None)
            yield f"{path}.csv", csv_text(rows.to_dict("records")).encode()


def figure_specs(chart: ReportChart) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the chart as pictures of a fixed width on white, in the theme of the page.

    Each has the end of its file's name: empty, or the place and the name of the run that it shows.
    """
    spec = {name: value for name, value in chart.spec.items() if name != "autosize"}
    # The fonts of a screen are not those of a PDF.
    config = chart_config("Helvetica, Arial, sans-serif") | {"background": "white"}
    # Another program may draw the text of an SVG in a wider font.
    spec |= {"width": FIGURE_WIDTH, "padding": 16, "config": config}
    if CHOSEN not in (one["name"] for one in spec.get("params", [])):
        yield "", spec
        return
    others = [one for one in spec["params"] if one["name"] != CHOSEN]
    for place, run in enumerate(dict.fromkeys(chart.table["run"]), start=1):
        title = {"text": wrapped(run, 60).split("\n"), "anchor": "start"}
        chosen = {"name": CHOSEN, "value": run}
        yield f"-{place}-{file_name(run)}", {**spec, "title": title, "params": [*others, chosen]}


def _section(benchmark: Benchmark, reading: str, by: str | None) -> ReportSection:
    kinds = {run.kind for run in benchmark.runs}
    known = all(reading in SCORERS.get(kind, ("strict",)) for kind in kinds)
    reading = reading if known else "strict"
    metrics = leaderboard_metrics(benchmark, reading)
    headline = ranking_metric(benchmark, metrics)
    metrics.sort(key=lambda metric: metric != headline)
    benchmark = _best_first(benchmark, headline, reading)
    finish_samples = start_microscope(benchmark.runs, reading)
    table = leaderboard(benchmark, reading)
    own = table[~table["published"]]
    asked = dict.fromkeys(run.protocol for run in benchmark.runs)
    drawn = [
        charts.leaderboard_chart(table, headline, metric_name(headline)),
        *_checkpoints(benchmark, headline, reading, by),
        *_charts(benchmark, reading),
    ]
    samples = finish_samples()
    return ReportSection(
        title=benchmark.key,
        about=_description(benchmark),
        shared=next(iter(asked)) if len(asked) == 1 and "default" not in asked else "",
        apart=benchmark.apart,
        metrics=metrics,
        rows=list(_board_rows(table, metrics)),
        tested=bool(is_tested(benchmark, headline)) and int((own["apart"] == "").sum()) > 1,
        charts=[*drawn, *_bias_charts(benchmark.runs, samples.features)],
        samples=samples,
    )


def _board_rows(table: "pandas.DataFrame", metrics: Sequence[str]) -> Iterator[FrameRow]:
    """Yield own runs and published results in one order, each with the lines of tied groups.

    A line goes through the rows between the first and the last run of its group.
    """
    rows = table.to_dict("records")
    rows.sort(key=lambda row: (bool(row["apart"]), *best_first(row, metrics)))
    letters = list(dict.fromkeys(x for row in rows for x in re.findall(LETTER, row["tied"])))
    spans = []
    for letter in letters:
        places = [i for i, row in enumerate(rows) if letter in re.findall(LETTER, row["tied"])]
        if len(places) > 1:
            spans.append((places[0], places[-1]))
    for place, row in enumerate(rows):
        yield {**row, "bars": [first <= place <= last for first, last in spans]}


def _checkpoints(
    benchmark: Benchmark, metric: str, reading: str, by: str | None
) -> Iterator[ReportChart]:
    if by is not None:
        table = checkpoints(benchmark.runs, by, metric, reading)
        if len(table):
            dates = bool(table["is_date"].all())
            table = table.drop(columns=["is_date"])
            yield charts.checkpoints_chart(table, by, metric, metric_name(metric), dates)


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


def _bias_charts(
    runs: Sequence[Run], features: Mapping[str, StepFeatures]
) -> Iterator[ReportChart]:
    steps = labelled_steps(runs, features)
    skill = skill_left(steps)
    if len(skill):
        yield charts.skill_chart(skill)
    for by in BIASES:
        table = reward_by(steps, by)
        if len(table):
            yield charts.bias_chart(table, f"Rewards of right steps by {by}", by)


def _best_metric(table: "pandas.DataFrame") -> str:
    """The first metric with values: F1 needs samples with and without an error in a group."""
    return next(
        name
        for name in ("f1_score", "error_accuracy", "correct_accuracy", "accuracy")
        if name in table and table[name].notna().any()
    )


@no_garbage_collection()
def report_page(report: Report, place: str, viewer: str = VIEWER) -> str:
    """Return the page as HTML.

    Args:
        report: The content.
        place: The folder of the logs, as for `inspect view --log-dir`.
        viewer: The address of the log viewer.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    scripts = [_drawing_script(), page_file("page.js"), page_file("microscope.js")]
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
        style=f"{page_colours()}\n{page_file('page.css')}",
        theme={"config": chart_config(), "dark": dark_colours()},
        page_parts=page_parts,
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


def _chart_data(chart: ReportChart) -> dict[str, Any]:
    """The description of a chart, and its data as a table."""
    table = chart.table.astype(object)
    rows: list[list[Any]] = table.where(chart.table.notna(), None).to_numpy().tolist()
    return {"spec": chart.spec, "columns": list(chart.table.columns), "rows": rows}
