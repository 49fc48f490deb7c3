"""What became of samples as charts: verdicts, positions, rewards, variations."""

from typing import TYPE_CHECKING

from misstep.reports._charts import chart_library
from misstep.reports._drawing import (
    FINDING_COLOURS,
    ROW,
    RUN_COLOURS,
    Drawing,
    drawing,
    faded,
    percent_axis,
    picked_run,
    run_colour,
    runs_in,
)

if TYPE_CHECKING:
    import pandas


def findings_chart(table: "pandas.DataFrame", solutions: str) -> Drawing:
    """What became of the samples of each run."""
    alt = chart_library()
    kept = table[table["solutions"] == solutions]
    names = list(dict.fromkeys(kept["finding"]))
    order = {name: place for place, name in enumerate(names)}
    kept = kept.assign(order=kept["finding"].map(order))
    scale = alt.Scale(domain=names, range=[FINDING_COLOURS[name] for name in names])
    chart = (
        alt.Chart(kept)
        .mark_bar()
        .encode(
            y=alt.Y("run:N", sort=runs_in(kept), title=None, axis=alt.Axis(labelLimit=220)),
            x=alt.X(
                "share:Q",
                stack="zero",
                axis=percent_axis(alt, "share of samples"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color(
                "finding:N", scale=scale, sort=None, legend=alt.Legend(orient="bottom", title=None)
            ),
            order="order:Q",
            tooltip=["run:N", "finding:N", "samples:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width="container", height=ROW * len(runs_in(kept)))
    )
    note = (
        "Early and late are verdicts before and after the first error; missed ones see none."
        if solutions == "with an error"
        else "A false alarm is an error where there is none."
    )
    title = f"Verdicts on solutions {solutions}"
    return drawing(title, note, chart, kept.drop(columns=["order"]))


def confusion_chart(table: "pandas.DataFrame") -> Drawing:
    """Predicted against labelled positions, of one run at a time."""
    alt = chart_library()
    runs = runs_in(table)
    labelled = sorted(set(table["labelled"]), key=_place_order)
    places = sorted({*labelled, *table["predicted"]}, key=_place_order)
    chosen = alt.param(
        name="chosen", value=runs[0], bind=alt.binding_select(options=runs, name="run ")
    )
    base = alt.Chart(table).transform_filter("datum.run == chosen")
    axis = alt.Axis(labelAngle=0)
    chart = base.mark_rect(cornerRadius=2).encode(
        x=alt.X(
            "predicted:O", sort=places, title="predicted", axis=axis, scale=alt.Scale(domain=places)
        ),
        y=alt.Y(
            "labelled:O",
            sort=places,
            title="labelled",
            scale=alt.Scale(domain=labelled),
        ),
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(scheme="blues", domain=[0, 1]),
            legend=alt.Legend(format=".0%", title=None, orient="bottom", gradientLength=160),
        ),
        tooltip=["labelled:O", "predicted:O", "samples:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    chart = chart.add_params(chosen).properties(width="container", height=ROW * len(labelled))
    note = "Shares of each labelled position. On the diagonal the verdict is exact."
    return drawing("Predicted and labelled positions", note, chart, table)


def _place_order(place: str) -> tuple[int, int]:
    words = {"none": -1, "other": 10**6, "unread": 10**6 + 1}
    return (words[place], 0) if place in words else (int(place.rstrip("+")), place.endswith("+"))


def calibration_chart(table: "pandas.DataFrame") -> Drawing:
    """Rewards beside how often their steps are right."""
    alt = chart_library()
    picked, colour = picked_run(alt), run_colour(alt, runs_in(table))
    base = alt.Chart(table)
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("reward:Q", title="reward", scale=scale)
    y = alt.Y("right:Q", axis=percent_axis(alt, "steps that are right"), scale=scale)
    ideal = (
        alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}]))
        .mark_line(strokeDash=[4, 4], color="#9aa0aa", strokeWidth=1)
        .encode(x="at:Q", y="at:Q")
    )
    rule = base.mark_rule(strokeWidth=1.2).encode(
        x=x,
        y="right_lower:Q",
        y2="right_upper:Q",
        color=colour,
        opacity=faded(alt, picked, 0.35, 0.0),
    )
    tips = [
        "run:N",
        alt.Tooltip("reward:Q", format=".3f"),
        alt.Tooltip("right:Q", format=".1%"),
        "steps:Q",
        alt.Tooltip("calibration_error:Q", format=".3f"),
        alt.Tooltip("brier:Q", format=".3f"),
    ]
    line = base.mark_line(point=True, strokeWidth=2).encode(
        x=x, y=y, color=colour, tooltip=tips, opacity=faded(alt, picked)
    )
    chart = (ideal + rule + line).add_params(picked).properties(width="container", height=260)
    note = (
        "Steps in tenths of their reward; on the dashed line rewards are probabilities. Steps "
        "after the first error are not labelled, and left out."
    )
    return drawing("Calibration of rewards", note, chart, table)


def rates_chart(table: "pandas.DataFrame", by: str) -> Drawing:
    """How often each variation of error recovery is right, by parts of the samples."""
    alt = chart_library()
    parts = list(dict.fromkeys(table["part"]))
    runs = runs_in(table)
    chosen = alt.param(
        name="chosen", value=runs[0], bind=alt.binding_select(options=runs, name="run ")
    )
    names = list(dict.fromkeys(table["variation"]))
    colour = alt.Color(
        "variation:N",
        sort=names,
        legend=alt.Legend(orient="bottom", title=None),
        scale=alt.Scale(domain=names, range=RUN_COLOURS[: len(names)]),
    )
    y = alt.Y("part:N", sort=parts, title=None, axis=alt.Axis(labelLimit=170))
    offset = alt.YOffset("variation:N", sort=names)
    base = alt.Chart(table).transform_filter("datum.run == chosen")
    rule = base.mark_rule(strokeWidth=2).encode(
        y=y, yOffset=offset, x="lower:Q", x2="upper:Q", color=colour
    )
    dot = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=y,
        yOffset=offset,
        color=colour,
        x=alt.X("rate:Q", axis=percent_axis(alt, "right"), scale=alt.Scale(domain=[0, 1])),
        tooltip=["part:N", "variation:N", alt.Tooltip("rate:Q", format=".1%")],
    )
    height = max(140, 16 * len(names) * len(parts))
    chart = (rule + dot).add_params(chosen).properties(width="container", height=height)
    note = "Without given reasoning (NR), with correct (CR) and with incorrect (IR) reasoning."
    return drawing(f"Recovery: {by.lower()}", note, chart, table)
