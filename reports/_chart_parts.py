"""The parts of the report page's charts: labels, axes, intervals, runs side by side, maps.

All charts have one theme. Labels are wrapped, never cut. Intervals of several runs stand side by
side. A line joins only points that have an order and enough samples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from misstep.reports._charts import LIGHT, RUN_COLOURS
from misstep.reports._text import file_name

if TYPE_CHECKING:
    import pandas


Altair: TypeAlias = Any
"""The module, or one of its objects: Altair is imported when a chart is drawn."""

ROW_HEIGHT, LINE_HEIGHT = 22, 14
"""Pixels of one row of a chart, and of one more line of its label."""
MOST_RUNS = 6
"""With more runs, a map of colours replaces dots and intervals."""
FEWEST = 5
"""No line joins points of fewer samples."""
LINE = 22
"""Characters of one line of a label."""
MOST_NUMBERS = 9
"""With more columns, the cells of a map have no numbers."""
INTERVALS = "Bars are 95% intervals."
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross"]
CHOSEN = "chosen"
"""The parameter of charts that show one run at a time."""


@dataclass(frozen=True)
class ReportChart:
    """A chart of the report page with its explanation and data."""

    title: str
    note: str
    spec: dict[str, Any]
    """Vega-Lite."""
    table: "pandas.DataFrame"
    height: int = 240
    wide: bool = False

    @property
    def name(self) -> str:
        """The name of its files."""
        return file_name(self.title.lower()).replace(",", "")


def wrapped(text: str, width: int = LINE) -> str:
    """Break a label into lines, at spaces and after marks that join words."""
    lines = [""]
    for word in re.findall(r"[^\s/_·,:+-]*[\s/_·,:+-]*", text):
        while len(word.rstrip()) > width:
            room = max(1, width - len(lines[-1])) if lines[-1] else width
            lines[-1] += word[:room]
            word = word[room:]
            lines.append("")
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines if line.strip()) or text


def _line_count(labels: Sequence[str]) -> int:
    return max((label.count("\n") + 1 for label in labels), default=1)


def row_height(labels: Sequence[str]) -> int:
    return ROW_HEIGHT + LINE_HEIGHT * (_line_count(labels) - 1)


def new_chart(
    title: str, note: str, chart: Altair, height: int, table: "pandas.DataFrame", wide: bool = False
) -> ReportChart:
    """Return a chart that takes the width of its place on the page."""
    # The parts of a chart were validated when they were made.
    spec = chart.properties(width="container", height=height).to_dict(validate=False)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    # The last label of an axis reaches beyond its end.
    spec["padding"] = {"left": 4, "right": 14, "top": 5, "bottom": 5}
    shown = table.drop(columns=[name for name in table.columns if name.startswith("_")])
    return ReportChart(title, note, spec, shown, height, wide)


def with_labels(table: "pandas.DataFrame", column: str, width: int = LINE) -> "pandas.DataFrame":
    """Add the wrapped labels of a column as `_column`."""
    return table.assign(**{f"_{column}": [wrapped(str(one), width) for one in table[column]]})


def unique(table: "pandas.DataFrame", column: str) -> list[str]:
    return list(dict.fromkeys(table[column]))


def run_encodings(alt: Altair, runs: Sequence[str]) -> dict[str, Altair]:
    """One colour and one shape per run, with a legend below the chart."""
    legend = alt.Legend(orient="bottom", title=None, columns=3) if len(runs) > 1 else None
    colours = [RUN_COLOURS[i % len(RUN_COLOURS)] for i in range(len(runs))]
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(runs))]
    return {
        "color": alt.Color(
            "_run:N", scale=alt.Scale(domain=runs, range=colours), legend=legend, sort=None
        ),
        "shape": alt.Shape(
            "_run:N", scale=alt.Scale(domain=runs, range=shapes), legend=legend, sort=None
        ),
    }


def chosen_run(alt: Altair, table: "pandas.DataFrame") -> Altair:
    """A menu to choose the run that a chart shows."""
    runs = unique(table, "run")
    menu = alt.binding_select(options=runs, name="run ")
    return alt.param(name=CHOSEN, value=runs[0], bind=menu)


def percent_axis(alt: Altair, title: str) -> Altair:
    return alt.Axis(format=".0%", title=wrapped(title).split("\n"), tickCount=5)


def interval_rule(
    base: Altair, metric: str, direction: str, stroke: float, **channels: Altair
) -> Altair:
    """A line from the lower to the upper end of a metric's interval."""
    ends = {direction: f"{metric}_lower:Q", f"{direction}2": f"{metric}_upper:Q"}
    return base.mark_rule(strokeWidth=stroke).encode(**channels, **ends)


def count_note(table: "pandas.DataFrame", column: str = "samples") -> str:
    """Say how many samples stand behind the points."""
    known = table[column].dropna()
    if known.empty:
        return ""
    low, high = int(known.min()), int(known.max())
    return f"n = {low:,}." if low == high else f"n = {low:,} to {high:,} for each point."


def dodged_lines(
    alt: Altair,
    table: "pandas.DataFrame",
    x: Altair,
    metric: str,
    name: str,
    tips: Sequence[Altair],
    joined: bool = True,
    count: str = "samples",
    domain: Sequence[float] | None = (0, 1),
    percent: bool = True,
) -> Altair:
    """Points with intervals side by side; a line joins those of a run with enough samples."""
    table = with_labels(table.dropna(subset=[metric]), "run")
    runs = unique(table, "_run")
    encodings = run_encodings(alt, runs)
    offset = alt.XOffset("_run:N", sort=runs, scale=alt.Scale(paddingInner=0.3, paddingOuter=0.6))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    axis = percent_axis(alt, name) if percent else alt.Axis(format=".2f", title=name, tickCount=5)
    y = alt.Y(f"{metric}:Q", axis=axis, scale=scale)
    base = alt.Chart(table).encode(x=x, **({"xOffset": offset} if len(runs) > 1 else {}))
    layers = []
    if joined:
        enough = base.transform_filter(f"datum[{count!r}] >= {FEWEST}")
        layers.append(
            enough.mark_line(strokeWidth=1.5, opacity=0.45).encode(y=y, color=encodings["color"])
        )
    layers += [
        interval_rule(base, metric, "y", 1.6, color=encodings["color"], opacity=alt.value(0.6)),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            y=y, tooltip=list(tips), **encodings
        ),
    ]
    return alt.layer(*layers)


def colour_map(
    alt: Altair,
    table: "pandas.DataFrame",
    by: str,
    metric: str,
    title: str,
    name: str,
    tips: Altair,
) -> tuple[Altair, int]:
    """A map of colours: one row per run, one column per group. Returns the chart and its height."""
    table = with_labels(table.dropna(subset=[metric]), "run")
    groups, runs = unique(table, by), unique(table, "_run")
    upright = max(len(str(one)) for one in groups) * len(groups) > 30
    x = alt.X(
        f"{by}:N",
        sort=groups,
        title=wrapped(title).split("\n"),
        axis=alt.Axis(labelAngle=-90 if upright else 0),
    )
    y = alt.Y("_run:N", sort=runs, title=None)
    colour = alt.Color(
        f"{metric}:Q",
        scale=alt.Scale(domain=[0, 1]),
        legend=alt.Legend(
            type="gradient", orient="bottom", format=".0%", title=name, gradientLength=100
        ),
    )
    cells = alt.Chart(table).mark_rect().encode(x=x, y=y, color=colour, tooltip=tips)
    height = row_height(runs) * len(runs)
    if len(groups) > MOST_NUMBERS:
        return cells, height
    numbers = (
        alt.Chart(table)
        .transform_calculate(_hundred=f"round(100 * datum[{metric!r}])")
        .mark_text(fontSize=10)
        .encode(
            x=x,
            y=y,
            text="_hundred:Q",
            color=alt.condition(
                f"datum[{metric!r}] > 0.55", alt.value(LIGHT["card"]), alt.value(LIGHT["ink"])
            ),
        )
    )
    return cells + numbers, height
