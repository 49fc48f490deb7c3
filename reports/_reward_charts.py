"""The charts of the report page on rewards: calibration, biases, and skill."""

from typing import TYPE_CHECKING

from misstep.reports._chart_parts import (
    FEWEST,
    INTERVALS,
    MOST_RUNS,
    ReportChart,
    colour_map,
    count_note,
    dodged_lines,
    interval_rule,
    new_chart,
    percent_axis,
    row_height,
    run_encodings,
    unique,
    with_labels,
)
from misstep.reports._charts import LIGHT, chart_library

if TYPE_CHECKING:
    import pandas


def calibration_chart(table: "pandas.DataFrame") -> ReportChart:
    """The share of right steps by reward."""
    alt = chart_library()
    table = with_labels(table, "run")
    runs = unique(table, "_run")
    encodings = run_encodings(alt, runs)
    unit = alt.Scale(domain=[0, 1])
    ideal = (
        alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}]))
        .mark_line(strokeDash=[4, 4], color=LIGHT["grey"], strokeWidth=1)
        .encode(x="at:Q", y="at:Q")
    )
    formats = {"reward": ".3f", "right": ".1%", "calibration_error": ".3f", "brier": ".3f"}
    tips = [alt.Tooltip(f"{name}:Q", format=form) for name, form in formats.items()]
    x = alt.X("reward:Q", title="reward", scale=unit)
    y = alt.Y("right:Q", axis=percent_axis(alt, "right steps"), scale=unit)
    base = alt.Chart(table).encode(x=x)
    enough = base.transform_filter(f"datum.steps >= {FEWEST}")
    layers = [
        ideal,
        enough.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=y, color=encodings["color"]),
        interval_rule(base, "right", "y", 1.4, color=encodings["color"], opacity=alt.value(0.5)),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            y=y, tooltip=["run:N", *tips, "steps:Q"], **encodings
        ),
    ]
    note = (
        "Steps are sorted by reward into bins of about equal counts. On the dashed line, rewards "
        "are probabilities. Steps after the first error have no label and are left out. "
        f"{count_note(table, 'steps')}"
    )
    return new_chart("Calibration of rewards", note, alt.layer(*layers), 260, table)


def bias_chart(table: "pandas.DataFrame", title: str, by: str) -> ReportChart:
    """The mean reward of right steps by a property of the step that should not matter."""
    alt = chart_library()
    table = table.rename(columns={"group": by})
    groups = unique(table, by)
    tips = [
        "run:N",
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("reward:Q", format=".3f"),
        alt.Tooltip("steps:Q"),
    ]
    note = (
        "Only steps that are labelled right: their rewards should not depend on this. "
        f"{INTERVALS} {count_note(table, 'steps')}"
    )
    if len(unique(table, "run")) > MOST_RUNS:
        chart, height = colour_map(alt, table, by, "reward", by, "mean reward", tips)
        return new_chart(title, note, chart, height, table)
    x = alt.X(f"{by}:N", sort=groups, title=f"{by} of the step", axis=alt.Axis(labelAngle=0))
    style = by == "style"
    if style:
        table = with_labels(table, by, 12)
        x = alt.X(f"_{by}:N", sort=unique(table, f"_{by}"), title=None, axis=alt.Axis(labelAngle=0))
    chart = dodged_lines(
        alt, table, x, "reward", "mean reward", tips, not style, "steps", None, percent=False
    )
    return new_chart(title, note, chart, 240, table)


def skill_chart(table: "pandas.DataFrame") -> ReportChart:
    """The AUROC of rewards, of what length, position and style give alone, and of what is left."""
    alt = chart_library()
    table = with_labels(with_labels(table, "run"), "what")
    kinds, runs = unique(table, "_what"), unique(table, "_run")
    colours = alt.Scale(domain=kinds, range=[LIGHT["blue"], LIGHT["grey"], LIGHT["orange"]])
    shapes = alt.Scale(domain=kinds, range=["circle", "square", "diamond"])
    legend = alt.Legend(orient="bottom", title=None, columns=1)
    base = alt.Chart(table).encode(
        y=alt.Y("_run:N", sort=runs, title=None),
        yOffset=alt.YOffset("_what:N", sort=kinds),
        color=alt.Color("_what:N", scale=colours, legend=legend, sort=None),
    )
    x = alt.X("auroc:Q", title="AUROC of wrong steps", scale=alt.Scale(domain=[0.3, 1], clamp=True))
    chance = (
        alt.Chart(alt.Data(values=[{"at": 0.5}]))
        .mark_rule(strokeDash=[4, 4], color=LIGHT["grey"])
        .encode(x="at:Q")
    )
    tips = ["run:N", "what:N", alt.Tooltip("auroc:Q", format=".3f"), "steps:Q"]
    layers = [
        chance,
        interval_rule(base, "auroc", "x", 2),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x, tooltip=tips, shape=alt.Shape("_what:N", scale=shapes, legend=legend, sort=None)
        ),
    ]
    note = (
        "How well rewards tell wrong steps from right ones; how well the length, the position and "
        "the style of a step do without any reward; and the rewards after these are accounted "
        f"for. {INTERVALS} {count_note(table, 'steps')}"
    )
    height = max(row_height(runs), 42) * len(runs)
    return new_chart("Skill left after biases", note, alt.layer(*layers), height, table, True)
