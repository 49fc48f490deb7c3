"""A report: everything that some logs tell, section by section."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any, get_args

from misstep.registry import evals
from misstep.reports._breakdowns import (
    accuracy_by,
    confusion,
    findings,
    groupings,
    votes_curve,
)
from misstep.reports._drawing import Drawing
from misstep.reports._figure_charts import (
    budget_chart,
    grouped_chart,
    leaderboard_chart,
    votes_chart,
)
from misstep.reports._finding_charts import (
    calibration_chart,
    confusion_chart,
    findings_chart,
    rates_chart,
)
from misstep.reports._frames import labels_of, runs_frame
from misstep.reports._leaderboard import (
    BY_SUBSET,
    Benchmark,
    benchmarks,
    figures_of,
    headline,
    leaderboard,
)
from misstep.reports._recovery import TITLES as RATES
from misstep.reports._recovery import By
from misstep.reports._rewards import budget, calibration, recovery_frame
from misstep.reports._runs import ANSWERS, Logs, Run, Skipped
from misstep.reports._written import UNDEFINED, dollars, percent

if TYPE_CHECKING:
    import pandas

NAMES = {
    "f1_score": "F1",
    "error_accuracy": "Error accuracy",
    "correct_accuracy": "Correct accuracy",
    "mean_subset_f1_score": "Mean F1 of subsets",
    "f1_macro": "F1, macro",
    "precision_macro": "Precision, macro",
    "recall_macro": "Recall, macro",
    "f1_micro": "F1, micro",
    "NR_correct_rate": "NR",
    "CR_correct_rate": "CR",
    "IR_correct_rate": "IR",
    "recovery_rate": "Recovery rate",
    "accuracy": "Accuracy",
    "mean": "Mean",
}
TITLES = {
    "error_position": "position of the error",
    "relative_position": "relative position of the error",
    "length": "number of steps",
    "error_type": "type of error",
    "task_l2": "topic",
    "outcome": "what the error leads to",
}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it shows, what it sorts by, and an interval to draw."""

    text: str
    value: float | str | None = None
    note: str = ""
    interval: tuple[float, float, float] | None = None
    """Lower, value and upper, from 0 to 100."""
    badge: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of cells."""

    headings: list[str]
    rows: list[list[Cell]]
    marked: list[bool]
    """Rows that are published results."""


@dataclass(frozen=True)
class Section:
    """What a report tells of one benchmark."""

    title: str
    about: str
    grid: Grid
    drawings: list[Drawing]
    samples: dict[str, Any]
    """The samples with every run's answers, for the page to look through."""


@dataclass(frozen=True)
class Report:
    """All of it."""

    runs: Grid
    sections: list[Section]
    skipped: list[Skipped]


def build_report(logs: Logs, reading: str = "strict") -> Report:
    """Make all tables and charts.

    Args:
        logs: What was read.
        reading: Which of the scores, where a run has them.
    """
    return Report(
        _runs_grid(runs_frame(logs.runs)) if logs.runs else Grid([], [], []),
        [_section(benchmark, reading) for benchmark in benchmarks(logs.runs)],
        logs.skipped,
    )


def _section(benchmark: Benchmark, reading: str) -> Section:
    known = {run.kind for run in benchmark.runs}
    own = reading if known <= {"first_error", "recovery"} else "strict"
    figures = figures_of(benchmark, own)
    first = headline(benchmark, figures)
    figures.sort(key=lambda figure: figure != first)
    benchmark = _best_first(benchmark, first, own)
    table = leaderboard(benchmark, own)
    return Section(
        title=benchmark.key,
        about=_about(benchmark),
        grid=_leaderboard_grid(table, figures),
        drawings=[
            leaderboard_chart(table, first, figure_name(first)),
            *_drawings(benchmark, own),
        ],
        samples=_samples(benchmark.runs, own),
    )


def _about(benchmark: Benchmark) -> str:
    """The registry's words: of the variant, where all runs are of one."""
    tasks = {run.task for run in benchmark.runs}
    for name, entry in evals().items():
        words = {name: entry.description}
        words |= {f"{name}.{variant}": v.description for variant, v in entry.variants.items()}
        if tasks & words.keys():
            return words[tasks.pop()] if len(tasks) == 1 else entry.description
    return ""


def _best_first(benchmark: Benchmark, figure: str, reading: str) -> Benchmark:
    def rank(run: Run) -> float:
        value = run.metrics[run.scorer(reading)].get(figure, nan)
        return inf if isnan(value) else -value

    return replace(benchmark, runs=sorted(benchmark.runs, key=rank))


def figure_name(figure: str) -> str:
    """A figure's name for people."""
    for own in BY_SUBSET.values():
        if figure.endswith(f"_{own}") and figure not in NAMES:
            return f"{figure.removesuffix(f'_{own}')} F1"
    return NAMES.get(figure, figure.replace("_", " "))


def _drawings(benchmark: Benchmark, reading: str) -> Iterator[Drawing]:
    runs, first_error = benchmark.runs, benchmark.kind == "first_error"
    if first_error:
        verdicts = findings(runs, reading)
        for solutions in dict.fromkeys(verdicts["solutions"]):
            yield findings_chart(verdicts, solutions)
        yield confusion_chart(confusion(runs, reading))
    if benchmark.kind == "recovery":
        for by in get_args(By):
            yield rates_chart(recovery_frame(runs, by, reading), RATES[by])
        return
    for by in groupings(runs):
        table = accuracy_by(runs, by, reading)
        figure = _figure_by(table)
        title = TITLES.get(by, by.replace("_", " "))
        yield grouped_chart(table, by, figure, title, NAMES[figure])
    voted = votes_curve(runs, reading)
    if len(voted):
        figure = _figure_by(voted)
        yield votes_chart(voted, figure, NAMES[figure])
    rewarded = calibration(runs, reading)
    if len(rewarded):
        yield calibration_chart(rewarded)
    if benchmark.kind == ANSWERS:
        spent = budget(runs, reading)
        for what in ("tokens", "calls"):
            if spent[f"{what}_a_sample"].any():
                yield budget_chart(spent, what)


def _figure_by(table: "pandas.DataFrame") -> str:
    """The best figure that the groups of a table have: F1 needs both kinds of samples."""
    return next(
        name
        for name in ("f1_score", "error_accuracy", "correct_accuracy", "accuracy")
        if name in table and table[name].notna().any()
    )


def _leaderboard_grid(table: "pandas.DataFrame", figures: Sequence[str]) -> Grid:
    headings = ["Run", "Protocol", "Samples", *map(figure_name, figures)]
    rows = []
    for row in table.to_dict("records"):
        samples = None if row["published"] else int(row["samples"])
        cells = [
            Cell(row["run"], row["run"], row["source"], badge="published" * row["published"]),
            Cell(row["protocol"], row["protocol"]),
            Cell("" if samples is None else f"{samples:,}", samples),
        ]
        rows.append(cells + [_figure_cell(row, figure) for figure in figures])
    return Grid(headings, rows, [bool(published) for published in table["published"]])


def _figure_cell(row: dict[str, Any], figure: str) -> Cell:
    value, lower, upper = (row[f"{figure}{end}"] for end in ("", "_lower", "_upper"))
    if isnan(value):
        return Cell(UNDEFINED)
    if isnan(lower):
        return Cell(percent(value), value)
    note = f"{percent(lower)} to {percent(upper)}"
    return Cell(percent(value), value, note, (100 * lower, 100 * value, 100 * upper))


def _runs_grid(table: "pandas.DataFrame") -> Grid:
    headings = [
        "Run", "Benchmark", "Samples", "Unparsed", "Truncated", "Errored", "Tokens in",
        "Tokens out", "Cost", "Seconds a sample",
    ]  # fmt: skip
    rows = [
        [
            Cell(row["run"], row["run"], row["file"]),
            Cell(f"{row['eval']} · {row['data']}", row["eval"]),
            _count(row["samples"]),
            *(Cell(percent(row[n]), row[n]) for n in ("unparsed", "truncated", "errored")),
            _count(row["input_tokens"]),
            _count(row["output_tokens"]),
            Cell(dollars(row["cost"]), row["cost"], row["cost_source"]),
            Cell(
                UNDEFINED if isnan(seconds := row["seconds_a_sample"]) else f"{seconds:.2f}",
                seconds,
            ),
        ]
        for row in table.to_dict("records")
    ]
    return Grid(headings, rows, [False] * len(rows))


def _decimal(number: float) -> str:
    return UNDEFINED if isnan(number) else f"{number:.2f}"


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def _samples(runs: Sequence[Run], reading: str) -> dict[str, Any]:
    """Every sample with what each run made of it, as small as it can be."""
    labels = labels_of(runs)
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
