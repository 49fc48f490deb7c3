"""Charts of worked solutions and of built sets."""

from collections import Counter
from typing import TYPE_CHECKING

from misstep.forge import Analysis
from misstep.reports._charts import chart_library
from misstep.reports._forge_report import DetectionRate, ForgeReport

if TYPE_CHECKING:
    import altair

_MAX_STEPS = 60
"""Longer solutions share the last bar."""


def step_counts_chart(analysis: Analysis, min_steps: int) -> "altair.Chart":
    """Return a histogram of the number of steps for each source."""
    alt = chart_library()
    counts: Counter[tuple[str, int]] = Counter()
    for name, group in analysis.sources.items():
        for steps, count in group.steps.items():
            counts[name, min(steps, _MAX_STEPS)] += count
    values = [
        {"source": name, "steps": steps, "solutions": count, "kept": steps >= min_steps}
        for (name, steps), count in sorted(counts.items())
    ]
    title = f"steps ({_MAX_STEPS}: {_MAX_STEPS} or more)"
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("steps:Q", title=title, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("solutions:Q", title="solutions"),
            color=alt.Color("kept:N", title=f"at least {min_steps} steps"),
            row=alt.Row("source:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        )
        .resolve_scale(y="independent")
        .properties(width=640, height=110, title="Steps of worked solutions by source")
    )
    return chart


def forge_report_charts(report: ForgeReport) -> dict[str, "altair.Chart"]:
    """Return the charts of a report by title."""
    positions = {f"{10 * i}–{10 * (i + 1)}%": report.positions[i] for i in range(10)}
    charts = {
        "Types of error": _bar_chart(report.types, "errors", "type"),
        "Position of the error": _bar_chart(positions, "errors", "part of the solution"),
    }
    if report.reject_reasons:
        charts["Rejected for"] = _bar_chart(report.reject_reasons, "solutions", "reason")
    if report.rates:
        charts["Errors found by critics"] = _detection_chart(report.rates)
    return charts


def _bar_chart(counts: dict[str, int], counted: str, grouped_by: str) -> "altair.Chart":
    alt = chart_library()
    values = [{"name": name, "count": count} for name, count in counts.items()]
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title=counted, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("name:N", title=grouped_by, sort=None, axis=alt.Axis(labelLimit=320)),
        )
        .properties(width=380)
    )
    return chart


def _detection_chart(rates: list[DetectionRate]) -> "altair.Chart":
    alt = chart_library()
    values = [
        {"critic": x.critic, "group": x.group, "found": x.value, "low": x.lower, "high": x.upper}
        for x in rates
    ]
    base = alt.Chart().encode(
        y=alt.Y("group:N", title=None, sort=None, axis=alt.Axis(labelLimit=320)),
        color=alt.Color("critic:N", title="critic"),
    )
    share = alt.Axis(format="%")
    points = base.mark_point(filled=True, size=50).encode(
        x=alt.X("found:Q", title="errors found", axis=share, scale=alt.Scale(domain=[0, 1]))
    )
    intervals = base.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q")
    chart: altair.Chart = (
        alt.layer(intervals, points, data=alt.Data(values=values))
        .properties(width=380, height=alt.Step(20))
        .facet(row=alt.Row("critic:N", title=None, header=alt.Header(labels=False)))
    )
    return chart
