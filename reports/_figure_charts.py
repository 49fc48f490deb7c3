"""Figures of runs as charts: by run, by groups of samples, by votes, by budget."""

from typing import TYPE_CHECKING

from misstep.reports._charts import chart_library
from misstep.reports._drawing import (
    MOST_INTERVALS,
    ROW,
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


def leaderboard_chart(table: "pandas.DataFrame", figure: str, name: str) -> Drawing:
    """Every run's headline with its interval; published results as open diamonds."""
    alt = chart_library()
    kept = table[["run", "protocol", "published", figure, f"{figure}_lower", f"{figure}_upper"]]
    kept = kept.dropna(subset=[figure]).copy()
    kept["row"] = [
        f"{run} ({how})" if pub else run
        for run, how, pub in zip(kept["run"], kept["protocol"], kept["published"], strict=True)
    ]
    kept["kind"] = kept["published"].map({True: "published", False: "this report"})
    base = alt.Chart(kept).encode(
        y=alt.Y("row:N", sort=list(kept["row"]), title=None, axis=alt.Axis(labelLimit=260)),
    )
    x = alt.X(f"{figure}:Q", axis=percent_axis(alt, name), scale=alt.Scale(domain=[0, 1]))
    legend = alt.Legend(orient="bottom", title=None) if kept["published"].any() else None
    kinds = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["this report", "published"], range=["#4269d0", "#7f8794"]),
        legend=legend,
    )
    shape = alt.Shape(
        "kind:N",
        scale=alt.Scale(domain=["this report", "published"], range=["circle", "diamond"]),
        legend=legend,
    )
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=f"{figure}_lower:Q", x2=f"{figure}_upper:Q", color=kinds
    )
    tips = [alt.Tooltip("row:N", title="run"), alt.Tooltip(f"{figure}:Q", format=".1%", title=name)]
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, color=kinds, shape=shape, tooltip=tips
    )
    chart = (bars + dots).properties(width="container", height=ROW * len(kept))
    note = "Bars are 95% intervals."
    if kept["published"].any():
        note += " Diamonds are published results on the whole benchmark, by their own protocols."
    return drawing(f"{name} by run", note, chart, table.drop(columns=["model"]), wide=True)


def grouped_chart(
    table: "pandas.DataFrame", by: str, figure: str, title: str, name: str
) -> Drawing:
    """A figure by groups of samples: lines where the groups have an order, else dots."""
    alt = chart_library()
    kept = table.dropna(subset=[figure])
    runs, groups = runs_in(table), list(dict.fromkeys(table[by]))
    picked = picked_run(alt)
    colour = run_colour(alt, runs)
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip(f"{by}:N", title=title),
        alt.Tooltip(f"{figure}:Q", format=".1%", title=name),
        alt.Tooltip("samples:Q"),
    ]
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(kept)
    if by in ("error_position", "relative_position", "length"):
        x = alt.X(f"{by}:O", sort=groups, title=title, axis=alt.Axis(labelAngle=0))
        y = alt.Y(f"{figure}:Q", axis=percent_axis(alt, name), scale=scale)
        line = base.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=colour, opacity=faded(alt, picked)
        )
        rule = base.mark_rule(strokeWidth=1.2).encode(
            x=x,
            y=f"{figure}_lower:Q",
            y2=f"{figure}_upper:Q",
            color=colour,
            opacity=faded(alt, picked, 0.35, 0.0),
        )
        dot = base.mark_point(filled=True, size=45).encode(
            x=x, y=y, color=colour, tooltip=tips, opacity=faded(alt, picked)
        )
        # The intervals of many lines hide the lines.
        layers = rule + line + dot if len(runs) <= MOST_INTERVALS else line + dot
        chart = layers.add_params(picked).properties(width="container", height=240)
    else:
        y = alt.Y(f"{by}:N", sort=groups, title=None, axis=alt.Axis(labelLimit=170))
        offset = alt.YOffset("run:N", sort=runs, scale=alt.Scale(paddingInner=0.2))
        x = alt.X(f"{figure}:Q", axis=percent_axis(alt, name), scale=scale)
        rule = base.mark_rule(strokeWidth=1.6).encode(
            y=y,
            yOffset=offset,
            x=f"{figure}_lower:Q",
            x2=f"{figure}_upper:Q",
            color=colour,
            opacity=faded(alt, picked, 0.5, 0.05),
        )
        dot = base.mark_point(filled=True, size=45).encode(
            y=y, yOffset=offset, x=x, color=colour, tooltip=tips, opacity=faded(alt, picked)
        )
        height = max(120, len(groups) * max(20, 9 * len(runs)))
        chart = (rule + dot).add_params(picked).properties(width="container", height=height)
    return drawing(f"{name} by {title}", "Bars are 95% intervals.", chart, table)


def votes_chart(table: "pandas.DataFrame", figure: str, name: str) -> Drawing:
    """A figure at growing numbers of votes."""
    alt = chart_library()
    picked, colour = picked_run(alt), run_colour(alt, runs_in(table))
    x = alt.X("votes:O", title="votes", axis=alt.Axis(labelAngle=0))
    y = alt.Y(f"{figure}:Q", axis=percent_axis(alt, name), scale=alt.Scale(zero=False))
    base = alt.Chart(table)
    rule = base.mark_rule(strokeWidth=1.2).encode(
        x=x,
        y=f"{figure}_lower:Q",
        y2=f"{figure}_upper:Q",
        color=colour,
        opacity=faded(alt, picked, 0.35, 0.0),
    )
    tips = ["run:N", "votes:O", alt.Tooltip(f"{figure}:Q", format=".1%", title=name)]
    line = base.mark_line(point=True, strokeWidth=2).encode(
        x=x, y=y, color=colour, tooltip=tips, opacity=faded(alt, picked)
    )
    chart = (rule + line).add_params(picked).properties(width="container", height=240)
    return drawing(f"{name} by votes", "From the same votes, the first so many.", chart, table)


def budget_chart(table: "pandas.DataFrame", what: str) -> Drawing:
    """Accuracy against what a sample took: tokens or calls."""
    alt = chart_library()
    colour = run_colour(alt, runs_in(table))
    base = alt.Chart(table)
    x = alt.X(f"{what}_a_sample:Q", title=f"{what} a sample", scale=alt.Scale(zero=False))
    y = alt.Y("accuracy:Q", axis=percent_axis(alt, "accuracy"), scale=alt.Scale(zero=False))
    rule = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        x=x, y="accuracy_lower:Q", y2="accuracy_upper:Q", color=colour
    )
    tips = [
        "run:N",
        alt.Tooltip("accuracy:Q", format=".1%"),
        alt.Tooltip(f"{what}_a_sample:Q", format=",.1f"),
    ]
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x, y=y, color=colour, tooltip=tips
    )
    chart = (rule + dot).properties(width="container", height=260)
    return drawing(f"Accuracy and {what}", "Bars are 95% intervals.", chart, table)
