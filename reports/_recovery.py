"""The rates of error recovery as a chart."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
from inspect_ai.scorer import SampleScore

from misstep.registry import MisstepError
from misstep.reports._charts import chart_library
from misstep.scorers import rates_by, recovery_samples

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

By = Literal["task", "position", "steps"]

NAMES = {
    "NR": "NR: from nothing",
    "CR": "CR: after correct steps",
    "IR": "IR: after a wrong step",
}
COLOURS = ("#4c78a8", "#54a24b", "#e45756")
"""Blue, green and red, as in the plots of the original eval."""
TITLES = {"task": "Task", "position": "Where the mistake stands", "steps": "Steps of the solution"}
WIDTH, HEIGHT = 130, 220
"""Of a group of bars, and of a run's row."""


@dataclass(frozen=True)
class Rate:
    """How often one variation was right in one part of a run."""

    run: str
    part: str
    variation: str
    rate: float
    lower: float
    upper: float


def recovery_rates(logs: Sequence[str], by: By = "task", lenient: bool = False) -> list[Rate]:
    """The three rates of each part of some runs, with Wilson's intervals.

    Args:
        logs: Logs of error recovery.
        by: What the parts are: tasks, thirds in which the mistake stands, or numbers of steps.
        lenient: By the lenient scorer.

    Raises:
        MisstepError: A log cannot be read, or is not of error recovery.
    """
    found: dict[str, list[Rate]] = {}
    for log in logs:
        name = _run_name(log)
        while name in found:
            name += " (again)"
        found[name] = list(_rates(log, name, by, "recovery_lenient" if lenient else "recovery"))
    return [rate for rates in found.values() for rate in rates]


def _run_name(log: str) -> str:
    """The model, and what it was asked beyond the task's defaults."""
    try:
        header = read_eval_log(log, header_only=True).eval
    except (OSError, ValueError) as problem:
        raise MisstepError(f"{log}: not a log of Inspect ({problem}).") from None
    arguments = [f"{name}={value}" for name, value in header.task_args_passed.items()]
    return ", ".join([header.model, header.task.rpartition("/")[2], *arguments])


def _rates(log: str, run: str, by: By, scorer: str) -> Iterator[Rate]:
    scores = [
        SampleScore(score=one.scores[scorer], sample_id=one.id, sample_metadata=one.metadata)
        for one in read_eval_log_sample_summaries(log)
        if one.scores and scorer in one.scores
    ]
    if not scores:
        raise MisstepError(f"{log}: no sample has a score of {scorer!r}; is it error recovery?")
    for part, rates in rates_by(recovery_samples(scores), by).items():
        for name, rate in rates.items():
            variation = NAMES[name.partition("_")[0]]
            yield Rate(run, _spoken(part), variation, rate.value, rate.lower, rate.upper)


def _spoken(part: str) -> str:
    return part.replace("_", " ").capitalize()


def recovery_chart(rates: Sequence[Rate], by: By = "task", lenient: bool = False) -> "Chart":
    """Grouped bars with intervals, a row for each run.

    Args:
        rates: What to draw.
        by: What the parts are.
        lenient: The rates are the lenient scorer's.
    """
    alt = chart_library()
    parts = list(dict.fromkeys(rate.part for rate in rates))
    variations = list(NAMES.values())
    base = alt.Chart().encode(
        x=alt.X(
            "part:N", sort=parts, title=TITLES[by], axis=alt.Axis(labelAngle=0, labelLimit=WIDTH)
        ),
        xOffset=alt.XOffset("variation:N", sort=variations),
    )
    title = f"Right answers ({'lenient' if lenient else 'strict'})"
    height = alt.Y("rate:Q", title=title, scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color(
        "variation:N",
        sort=variations,
        scale=alt.Scale(domain=variations, range=list(COLOURS)),
        legend=alt.Legend(title=None, orient="top"),
    )
    tips = [alt.Tooltip(f"{name}:N") for name in ("run", "part", "variation")]
    tips += [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("rate", "lower", "upper")]
    bars = base.mark_bar().encode(y=height, color=colour, tooltip=tips)
    whiskers = base.mark_rule(color="#333").encode(y=alt.Y("lower:Q", title=""), y2="upper:Q")
    values = base.mark_text(dy=-4, baseline="bottom", fontSize=9).encode(
        y=alt.Y("upper:Q", title=""), text=alt.Text("rate:Q", format=".2f")
    )
    layers = alt.layer(bars, whiskers, values).properties(width=WIDTH * len(parts), height=HEIGHT)
    runs = list(dict.fromkeys(rate.run for rate in rates))
    above = alt.Header(labelOrient="top", labelAnchor="start", labelLimit=WIDTH * len(parts))
    chart: Chart = layers.facet(
        data=alt.Data(values=[asdict(rate) for rate in rates]),
        row=alt.Row("run:N", title=None, sort=runs, header=above),
    )
    return chart
