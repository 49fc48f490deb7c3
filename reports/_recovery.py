"""The rates of error recovery: by part of the samples, as a table and as a chart."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from inspect_ai.log import read_eval_log_sample_summaries
from inspect_ai.scorer import SampleScore

from misstep.registry import MisstepError
from misstep.reports._charts import chart_library
from misstep.reports._frames import dataframe, run_labels
from misstep.reports._read_runs import read_log
from misstep.reports._runs import SCORERS, Run
from misstep.scorers import rates_by, recovery_samples

if TYPE_CHECKING:
    import pandas

    from misstep.reports._charts import Chart

RecoveryGrouping = Literal["task", "position", "steps"]

VARIATIONS = {
    "NR": "NR: from nothing",
    "CR": "CR: after correct steps",
    "IR": "IR: after a wrong step",
    "XC": "XC: correct steps by the user",
    "XI": "XI: wrong step by the user",
    "CRm": "CRm: correct steps, marker",
    "IRm": "IRm: wrong step, marker",
    "IRp": "IRp: wrong step and what followed",
}
COLOURS = (
    *("#4c78a8", "#54a24b", "#e45756"),
    *("#9fd18f", "#f5a6a0", "#2f7d3a", "#a8323a", "#7a4b9a"),
)
"""Blue, green and red, as in the plots of the original eval; other greens and reds of the further
variations with correct and with wrong steps."""
GROUPING_TITLES = {
    "task": "Task",
    "position": "Position of the mistake",
    "steps": "Steps of the solution",
}
WIDTH, HEIGHT = 130, 220
"""Of a group of bars, and of a row."""


@dataclass(frozen=True)
class RecoveryRate:
    """How often one variation was right in one part of a run."""

    run: str
    part: str
    variation: str
    rate: float
    lower: float
    upper: float


def recovery_rates(
    logs: Sequence[str], by: RecoveryGrouping = "task", reading: str = "strict"
) -> list[RecoveryRate]:
    """The rates of each part of some error-recovery logs, with Wilson intervals.

    Parts are tasks, thirds of the position of the mistake, or numbers of steps.
    """
    rates: dict[str, list[RecoveryRate]] = {}
    scorer = SCORERS["recovery"][reading]
    for log in logs:
        name = _run_name(log)
        while name in rates:
            name += " (again)"
        rates[name] = list(_log_rates(log, name, by, scorer))
    return [rate for of_log in rates.values() for rate in of_log]


def recovery_frame(
    runs: Sequence[Run], by: RecoveryGrouping = "task", reading: str = "strict"
) -> "pandas.DataFrame":
    """The rates of error-recovery runs as a dataframe."""
    labels = run_labels(runs)
    return dataframe(
        {**asdict(rate), "run": labels[run.id]}
        for run in runs
        for rate in recovery_rates([run.location], by, reading)
    )


def _run_name(log: str) -> str:
    """The model, the task, and the task arguments that were passed."""
    header = read_log(log, header_only=True).eval
    arguments = [f"{name}={value}" for name, value in header.task_args_passed.items()]
    return ", ".join([header.model, header.task.rpartition("/")[2], *arguments])


def _log_rates(log: str, run: str, by: RecoveryGrouping, scorer: str) -> Iterator[RecoveryRate]:
    scores = [
        SampleScore(score=one.scores[scorer], sample_id=one.id, sample_metadata=one.metadata)
        for one in read_eval_log_sample_summaries(log)
        if one.scores and scorer in one.scores
    ]
    if not scores:
        raise MisstepError(
            f"{log}: no sample has a score of {scorer!r}. Give finished logs of error recovery."
        )
    for part, rates in rates_by(recovery_samples(scores), by).items():
        title = part.replace("_", " ").capitalize()
        for name, rate in rates.items():
            variation = VARIATIONS[name.partition("_")[0]]
            yield RecoveryRate(run, title, variation, rate.value, rate.lower, rate.upper)


def recovery_chart(
    rates: Sequence[RecoveryRate], by: RecoveryGrouping = "task", reading: str = "strict"
) -> "Chart":
    """Grouped bars with intervals, one row per run."""
    alt = chart_library()
    parts = list(dict.fromkeys(rate.part for rate in rates))
    runs = list(dict.fromkeys(rate.run for rate in rates))
    known = {rate.variation for rate in rates}
    colours = {
        title: colour
        for title, colour in zip(VARIATIONS.values(), COLOURS, strict=True)
        if title in known
    }
    variations = list(colours)
    width = max(WIDTH, WIDTH // 3 * len(variations)) * len(parts)
    axis = alt.Axis(labelAngle=0, labelLimit=WIDTH)
    base = alt.Chart().encode(
        x=alt.X("part:N", sort=parts, title=GROUPING_TITLES[by], axis=axis),
        xOffset=alt.XOffset("variation:N", sort=variations),
    )
    tips = [alt.Tooltip(f"{name}:N") for name in ("run", "part", "variation")]
    tips += [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("rate", "lower", "upper")]
    title = f"Right answers ({reading})"
    bars = base.mark_bar().encode(
        y=alt.Y("rate:Q", title=title, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color(
            "variation:N",
            sort=variations,
            scale=alt.Scale(domain=variations, range=list(colours.values())),
            legend=alt.Legend(title=None, orient="top", columns=4, labelLimit=240),
        ),
        tooltip=tips,
    )
    whiskers = base.mark_rule(color="#333").encode(y=alt.Y("lower:Q", title=""), y2="upper:Q")
    values = base.mark_text(dy=-4, baseline="bottom", fontSize=9).encode(
        y=alt.Y("upper:Q", title=""), text=alt.Text("rate:Q", format=".2f")
    )
    header = alt.Header(labelOrient="top", labelAnchor="start", labelLimit=width)
    layers = alt.layer(bars, whiskers, values).properties(width=width, height=HEIGHT)
    chart: Chart = layers.facet(
        data=alt.Data(values=[asdict(rate) for rate in rates]),
        row=alt.Row("run:N", title=None, sort=runs, header=header),
    )
    return chart
