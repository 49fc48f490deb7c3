"""The charts of the report page, each drawn from one dataframe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from misstep.reports._charts import FINDING_COLOURS, chart_library

if TYPE_CHECKING:
    import pandas

Altair: TypeAlias = Any
"""The module, or one of its objects: Altair is imported when a chart is drawn."""

RUN_COLOURS = [
    *("#4269d0", "#e8900c", "#3ca951", "#d6336c", "#8a63d2"),
    *("#0c9fb5", "#9c6b4e", "#7f8794", "#b8a100", "#f08ab4"),
]
ROW_HEIGHT = 22
"""Pixels of one row of a chart."""
MOST_INTERVALS = 6
"""With more lines than this, the intervals would hide the lines."""
INTERVALS = "Bars are 95% intervals."
_MOST_ROWS_OF_LEGEND = 6


@dataclass(frozen=True)
class ReportChart:
    """A chart of the report page with its explanation and data."""

    title: str
    note: str
    spec: dict[str, Any]
    """Vega-Lite."""
    table: "pandas.DataFrame"
    wide: bool = False


def _report_chart(
    title: str, note: str, chart: Altair, height: int, table: "pandas.DataFrame", wide: bool = False
) -> ReportChart:
    """Return a chart that takes the width of its place on the page."""
    spec = chart.properties(width="container", height=height).to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return ReportChart(title, note, spec, table, wide)


def _run_names(table: "pandas.DataFrame") -> list[str]:
    return list(dict.fromkeys(table["run"]))


def _run_colour(alt: Altair, runs: Sequence[str]) -> Altair:
    """One colour per run, with a legend below the chart."""
    colours = [RUN_COLOURS[i % len(RUN_COLOURS)] for i in range(len(runs))]
    columns = 1 if len(runs) <= _MOST_ROWS_OF_LEGEND else 2
    legend = alt.Legend(orient="bottom", columns=columns, title=None, labelLimit=340)
    scale = alt.Scale(domain=list(runs), range=colours)
    return alt.Color("run:N", scale=scale, legend=legend, sort=None)


def _picked_run(alt: Altair) -> Altair:
    """A selection of one run by a click on the legend."""
    return alt.selection_point(fields=["run"], bind="legend", name="picked")


def _chosen_run(alt: Altair, table: "pandas.DataFrame") -> Altair:
    """A menu to choose the run that a chart shows."""
    runs = _run_names(table)
    menu = alt.binding_select(options=runs, name="run ")
    return alt.param(name="chosen", value=runs[0], bind=menu)


def _faded(alt: Altair, picked: Altair, full: float = 1.0, faint: float = 0.12) -> Altair:
    """The opacity of a mark: faint if another run is picked."""
    return alt.condition(picked, alt.value(full), alt.value(faint))


def _percent_axis(alt: Altair, title: str) -> Altair:
    return alt.Axis(format=".0%", title=title, tickCount=5)


def _interval_rule(
    base: Altair, metric: str, direction: str, stroke: float, **channels: Altair
) -> Altair:
    """A line from the lower to the upper end of a metric's interval."""
    ends = {direction: f"{metric}_lower:Q", f"{direction}2": f"{metric}_upper:Q"}
    return base.mark_rule(strokeWidth=stroke).encode(**channels, **ends)


def _line_chart(
    alt: Altair,
    table: "pandas.DataFrame",
    channels: dict[str, Altair],
    metric: str,
    behind: Sequence[Altair] = (),
) -> Altair:
    """One line per run with intervals, in front of other layers."""
    runs = _run_names(table)
    picked, colour = _picked_run(alt), _run_colour(alt, runs)
    base = alt.Chart(table.dropna(subset=[metric])).encode(x=channels["x"], color=colour)
    line = base.mark_line(point=True, strokeWidth=2).encode(opacity=_faded(alt, picked), **channels)
    rule = _interval_rule(base, metric, "y", 1.2, opacity=_faded(alt, picked, 0.35, 0.0))
    rules = [rule] if len(runs) <= MOST_INTERVALS else []
    return alt.layer(*behind, *rules, line).add_params(picked)


def leaderboard_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """The headline of every run with its interval; published results are diamonds."""
    alt = chart_library()
    kept = table[["run", "protocol", "published", metric, f"{metric}_lower", f"{metric}_upper"]]
    kept = kept.dropna(subset=[metric]).copy()
    kept["row"] = [
        f"{run} ({how})" if pub else run
        for run, how, pub in zip(kept["run"], kept["protocol"], kept["published"], strict=True)
    ]
    kept["kind"] = kept["published"].map({True: "published", False: "this report"})
    base = alt.Chart(kept).encode(
        y=alt.Y("row:N", sort=list(kept["row"]), title=None, axis=alt.Axis(labelLimit=260))
    )
    legend = alt.Legend(orient="bottom", title=None) if kept["published"].any() else None
    kinds = ["this report", "published"]
    colours = alt.Scale(domain=kinds, range=["#4269d0", "#7f8794"])
    shapes = alt.Scale(domain=kinds, range=["circle", "diamond"])
    colour = alt.Color("kind:N", scale=colours, legend=legend)
    bars = _interval_rule(base, metric, "x", 2.5, color=colour)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X(f"{metric}:Q", axis=_percent_axis(alt, name), scale=alt.Scale(domain=[0, 1])),
        color=colour,
        shape=alt.Shape("kind:N", scale=shapes, legend=legend),
        tooltip=[
            alt.Tooltip("row:N", title="run"),
            alt.Tooltip(f"{metric}:Q", format=".1%", title=name),
        ],
    )
    note = INTERVALS
    if kept["published"].any():
        note += (
            " Diamonds are published results on the whole benchmark. Their protocols can differ."
        )
    data = table.drop(columns=["model"])
    return _report_chart(
        f"{name} by run", note, bars + dots, ROW_HEIGHT * len(kept), data, wide=True
    )


def grouped_chart(
    table: "pandas.DataFrame", by: str, metric: str, title: str, name: str
) -> ReportChart:
    """A metric by group of samples: lines if the groups have an order, otherwise dots."""
    alt = chart_library()
    runs, groups = _run_names(table), list(dict.fromkeys(table[by]))
    value = {"axis": _percent_axis(alt, name), "scale": alt.Scale(domain=[0, 1])}
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip(f"{by}:N", title=title),
        alt.Tooltip(f"{metric}:Q", format=".1%", title=name),
        alt.Tooltip("samples:Q"),
    ]
    if by in ("error_position", "relative_position", "length"):
        x = alt.X(f"{by}:O", sort=groups, title=title, axis=alt.Axis(labelAngle=0))
        channels = {"x": x, "y": alt.Y(f"{metric}:Q", **value), "tooltip": tips}
        chart = _line_chart(alt, table, channels, metric)
        height = 240
    else:
        picked = _picked_run(alt)
        base = alt.Chart(table.dropna(subset=[metric]))
        channels = {
            "y": alt.Y(f"{by}:N", sort=groups, title=None, axis=alt.Axis(labelLimit=170)),
            "yOffset": alt.YOffset("run:N", sort=runs, scale=alt.Scale(paddingInner=0.2)),
            "color": _run_colour(alt, runs),
        }
        opacity = _faded(alt, picked, 0.5, 0.05)
        rule = _interval_rule(base, metric, "x", 1.6, opacity=opacity, **channels)
        dots = base.mark_point(filled=True, size=45).encode(
            x=alt.X(f"{metric}:Q", **value), opacity=_faded(alt, picked), tooltip=tips, **channels
        )
        chart = (rule + dots).add_params(picked)
        height = max(120, len(groups) * max(20, 9 * len(runs)))
    return _report_chart(f"{name} by {title}", INTERVALS, chart, height, table)


def votes_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """A metric by number of votes."""
    alt = chart_library()
    channels = {
        "x": alt.X("votes:O", title="votes", axis=alt.Axis(labelAngle=0)),
        "y": alt.Y(f"{metric}:Q", axis=_percent_axis(alt, name), scale=alt.Scale(zero=False)),
        "tooltip": ["run:N", "votes:O", alt.Tooltip(f"{metric}:Q", format=".1%", title=name)],
    }
    note = "All points use the same votes: k votes are the first k."
    chart = _line_chart(alt, table, channels, metric)
    return _report_chart(f"{name} by votes", note, chart, 240, table)


def budget_chart(table: "pandas.DataFrame", what: str) -> ReportChart:
    """Accuracy by what a sample used: tokens or calls."""
    alt = chart_library()
    colour = _run_colour(alt, _run_names(table))
    base = alt.Chart(table)
    x = alt.X(f"{what}_a_sample:Q", title=f"{what} per sample", scale=alt.Scale(zero=False))
    rule = _interval_rule(base, "accuracy", "y", 1.5, x=x, color=colour, opacity=alt.value(0.5))
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        y=alt.Y("accuracy:Q", axis=_percent_axis(alt, "accuracy"), scale=alt.Scale(zero=False)),
        color=colour,
        tooltip=[
            "run:N",
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip(f"{what}_a_sample:Q", format=",.1f", title=f"{what} per sample"),
        ],
    )
    return _report_chart(f"Accuracy and {what}", INTERVALS, rule + dots, 260, table)


def findings_chart(table: "pandas.DataFrame", solutions: str) -> ReportChart:
    """The share of each finding by run."""
    alt = chart_library()
    kept = table[table["solutions"] == solutions]
    names = list(dict.fromkeys(kept["finding"]))
    order = {name: place for place, name in enumerate(names)}
    colours = alt.Scale(domain=names, range=[FINDING_COLOURS[name] for name in names])
    runs = _run_names(kept)
    chart = (
        alt.Chart(kept.assign(order=kept["finding"].map(order)))
        .mark_bar()
        .encode(
            y=alt.Y("run:N", sort=runs, title=None, axis=alt.Axis(labelLimit=220)),
            x=alt.X(
                "share:Q",
                stack="zero",
                axis=_percent_axis(alt, "share of samples"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color(
                "finding:N",
                scale=colours,
                sort=None,
                legend=alt.Legend(orient="bottom", title=None),
            ),
            order="order:Q",
            tooltip=["run:N", "finding:N", "samples:Q", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    note = (
        "Early and late: the verdict is before or after the first error. Missed: the verdict is "
        "'no error'."
        if solutions == "with an error"
        else "False alarm: the verdict names an error, but there is none."
    )
    title = f"Verdicts on solutions {solutions}"
    return _report_chart(title, note, chart, ROW_HEIGHT * len(runs), kept)


def confusion_chart(table: "pandas.DataFrame") -> ReportChart:
    """Predicted positions by labelled position, one run at a time."""
    alt = chart_library()
    labelled = sorted(set(table["labelled"]), key=_position_order)
    places = sorted({*labelled, *table["predicted"]}, key=_position_order)
    chart = (
        alt.Chart(table)
        .transform_filter("datum.run == chosen")
        .mark_rect(cornerRadius=2)
        .encode(
            x=alt.X(
                "predicted:O",
                sort=places,
                title="predicted",
                axis=alt.Axis(labelAngle=0),
                scale=alt.Scale(domain=places),
            ),
            y=alt.Y("labelled:O", sort=places, title="labelled", scale=alt.Scale(domain=labelled)),
            color=alt.Color(
                "share:Q",
                scale=alt.Scale(scheme="blues", domain=[0, 1]),
                legend=alt.Legend(format=".0%", title=None, orient="bottom", gradientLength=160),
            ),
            tooltip=[
                "labelled:O",
                "predicted:O",
                "samples:Q",
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .add_params(_chosen_run(alt, table))
    )
    note = "Each row adds up to 100%. On the diagonal the verdict is exact."
    height = ROW_HEIGHT * len(labelled)
    return _report_chart("Predicted and labelled positions", note, chart, height, table)


def _position_order(place: str) -> tuple[int, int]:
    words = {"none": -1, "other": 10**6, "unread": 10**6 + 1}
    return (words[place], 0) if place in words else (int(place.rstrip("+")), place.endswith("+"))


def calibration_chart(table: "pandas.DataFrame") -> ReportChart:
    """The share of right steps by reward."""
    alt = chart_library()
    unit = alt.Scale(domain=[0, 1])
    ideal = (
        alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}]))
        .mark_line(strokeDash=[4, 4], color="#9aa0aa", strokeWidth=1)
        .encode(x="at:Q", y="at:Q")
    )
    formats = {"reward": ".3f", "right": ".1%", "calibration_error": ".3f", "brier": ".3f"}
    tips = [alt.Tooltip(f"{name}:Q", format=form) for name, form in formats.items()]
    channels = {
        "x": alt.X("reward:Q", title="reward", scale=unit),
        "y": alt.Y("right:Q", axis=_percent_axis(alt, "right steps"), scale=unit),
        "tooltip": ["run:N", *tips, "steps:Q"],
    }
    chart = _line_chart(alt, table, channels, "right", [ideal])
    note = (
        "Steps are sorted by reward into bins of about equal counts. On the dashed line, rewards "
        "are probabilities. Steps after the first error have no label and are left out."
    )
    return _report_chart("Calibration of rewards", note, chart, 260, table)


def recovery_rates_chart(table: "pandas.DataFrame", by: str) -> ReportChart:
    """The rate of right answers by variation of error recovery and by part, one run at a time."""
    alt = chart_library()
    parts = list(dict.fromkeys(table["part"]))
    names = list(dict.fromkeys(table["variation"]))
    colours = alt.Scale(domain=names, range=RUN_COLOURS[: len(names)])
    channels = {
        "y": alt.Y("part:N", sort=parts, title=None, axis=alt.Axis(labelLimit=170)),
        "yOffset": alt.YOffset("variation:N", sort=names),
        "color": alt.Color(
            "variation:N", sort=names, legend=alt.Legend(orient="bottom", title=None), scale=colours
        ),
    }
    base = alt.Chart(table).transform_filter("datum.run == chosen")
    rule = base.mark_rule(strokeWidth=2).encode(x="lower:Q", x2="upper:Q", **channels)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("rate:Q", axis=_percent_axis(alt, "right"), scale=alt.Scale(domain=[0, 1])),
        tooltip=["part:N", "variation:N", alt.Tooltip("rate:Q", format=".1%")],
        **channels,
    )
    layers = (rule + dots).add_params(_chosen_run(alt, table))
    note = "Without given reasoning (NR), with correct (CR) and with incorrect (IR) reasoning."
    height = max(140, 16 * len(names) * len(parts))
    return _report_chart(f"Recovery: {by.lower()}", note, layers, height, table)
