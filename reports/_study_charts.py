"""The charts of the study."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from misstep.reports._charts import chart_library
from misstep.reports._samples import ON_CORRECT, ON_ERRORS, Finding, Judged
from misstep.reports._study import Cell, Dimension, critics_of

if TYPE_CHECKING:
    from misstep.reports._charts import Chart

WIDTH, HEIGHT = 720, 260

COLOURS: dict[Finding, str] = {
    "exact": "#2a7f3f",
    "right": "#2a7f3f",
    "early": "#f2b134",
    "late": "#e07a1f",
    "missed": "#a63d40",
    "false_alarm": "#a63d40",
    "out_of_range": "#7d5ba6",
    "unread": "#9aa0a6",
}

WORDS: dict[Finding, str] = {
    "exact": "the first error",
    "early": "an earlier step",
    "late": "a later step",
    "missed": "no error",
    "right": "no error",
    "false_alarm": "a step",
    "out_of_range": "a step that is not there",
    "unread": "no readable verdict",
}


def rates_chart(found: Sequence[Cell], dimension: Dimension, critics: Sequence[str]) -> "Chart":
    """Rates with their intervals, side by side for every group."""
    alt = chart_library()
    values = [
        {
            "group": str(cell.group),
            "critic": cell.critic,
            "rate": cell.rate.value,
            "lower": cell.rate.lower,
            "upper": cell.rate.upper,
            "rows": cell.rows,
        }
        for cell in found
    ]
    groups = list(dict.fromkeys(str(cell.group) for cell in found))
    # Long names side by side run into each other.
    angle = -20 if max(map(len, groups)) > 10 else 0
    title = "Share of first errors found" if dimension.errors else "Share of false alarms"
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("group:N", sort=groups, title=dimension.title, axis=alt.Axis(labelAngle=angle)),
        xOffset=alt.XOffset("critic:N", sort=list(critics)),
        color=alt.Color("critic:N", sort=list(critics), title=None, legend=_LEGEND),
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%")
    points = base.mark_point(filled=True, size=45).encode(
        y=alt.Y("rate:Q", title=title, scale=scale, axis=axis),
        tooltip=["critic:N", "group:N", "rate:Q", "lower:Q", "upper:Q", "rows:Q"],
    )
    lines = base.mark_rule().encode(y=alt.Y("lower:Q", title=title), y2="upper:Q")
    chart: Chart = (lines + points).properties(width=WIDTH, height=HEIGHT)
    return chart


_LEGEND = {"orient": "top", "columns": 3, "labelLimit": 400}


def findings_chart(table: Sequence[Judged], errors: bool) -> "Chart":
    """What every critic said, as shares of the rows with an error, or of those without."""
    alt = chart_library()
    wanted = ON_ERRORS if errors else ON_CORRECT
    rows = [judged for judged in table if judged.has_error == errors]
    values = [
        {
            "critic": critic,
            "said": WORDS[finding],
            "order": order,
            "rows": sum(j.critic == critic and j.finding == finding for j in rows),
        }
        for critic in critics_of(table)
        for order, finding in enumerate(wanted)
    ]
    kind = "with an error" if errors else "without an error"
    chart: Chart = (
        alt.Chart(alt.Data(values=values), title=f"Rows {kind}: what the critic names")
        .mark_bar()
        .encode(
            y=alt.Y(
                "critic:N",
                sort=critics_of(table),
                title=None,
                axis=alt.Axis(labelLimit=300),
            ),
            x=alt.X("rows:Q", stack="normalize", title=None, axis=alt.Axis(format="%")),
            color=alt.Color(
                "said:N",
                title=None,
                sort=[WORDS[finding] for finding in wanted],
                scale=alt.Scale(
                    domain=[WORDS[finding] for finding in wanted],
                    range=[COLOURS[finding] for finding in wanted],
                ),
                legend={"orient": "top", "columns": 6, "labelLimit": 400},
            ),
            order="order:Q",
        )
        .properties(width=WIDTH - 130)
    )
    return chart
