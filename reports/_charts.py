"""How charts look, by Vega-Lite through Altair: colours, labels, axes, intervals, files.

All charts have one theme. Labels are wrapped, never cut. Intervals of several runs stand side by
side. A line joins only points that have an order and enough samples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from misstep.plain_text import printable_strings
from misstep.registry import MisstepError
from misstep.reports._text import file_name

if TYPE_CHECKING:
    import altair
    import pandas

    Chart = altair.TopLevelMixin

Spec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite, or a part of it."""
Altair: TypeAlias = Any
"""The module, or one of its objects: Altair is imported when a chart is drawn."""

ChartFormat = Literal["svg", "png", "html", "json", "pdf"]

COLOURS = {
    "blue": ("#0072b2", "#58aee8"),
    "orange": ("#d07c00", "#f0a63c"),
    "vermilion": ("#c44900", "#ff8a5c"),
    "purple": ("#a64d86", "#e193c3"),
    "green": ("#00815e", "#3fc79f"),
    "navy": ("#3f4e8c", "#a3b0f2"),
    "brown": ("#7a5c3e", "#caa985"),
    "sky": ("#2589bd", "#83cbf4"),
    "olive": ("#77741c", "#c8c455"),
    "grey": ("#6b7480", "#9aa4b2"),
}
"""The colours of all charts and pages, for light and dark. They are those of Okabe and Ito (2008),
which people with any colour vision tell apart, darker on white and lighter on black."""

_SURFACES = {
    "paper": ("#fbfcfd", "#0f1318"),
    "card": ("#ffffff", "#161b22"),
    "ink": ("#1b1f26", "#e6e9ee"),
    "muted": ("#586174", "#a0abbc"),
    "line": ("#e2e6ec", "#2a313c"),
    "edge": ("#c4cad4", "#414b59"),
    "soft": ("#f3f5f8", "#1b212a"),
    "track": ("#dfe5ee", "#2f3947"),
    "accent": ("#005e94", "#7cc0f2"),
    "good": ("#00694c", "#5fd0ac"),
    "bad": ("#a83a00", "#ff9a72"),
    "warn": ("#8a5200", "#f0b35c"),
}
_ROLES = {
    "exact": "blue",
    "early": "orange",
    "late": "vermilion",
    "missed": "purple",
    "false": "vermilion",
    "none": "grey",
    "beyond": "brown",
    "unknown": "olive",
    "warm": "blue",
    "cold": "vermilion",
}
"""What colours mean on the page."""

LIGHT = {name: pair[0] for name, pair in (COLOURS | _SURFACES).items()}
RUN_COLOURS = [
    LIGHT[name]
    for name in ("blue", "orange", "green", "purple", "navy", "vermilion", "sky", "brown", "olive")
] + [LIGHT["grey"]]
HEAT = ["#eef3f8", "#8dbbdc", "#00568a"]
_DARK_HEAT = ["#1c2530", "#3b7ba9", "#a8d8fb"]

FINDING_COLOURS = {
    "exact": LIGHT["blue"],
    "right": LIGHT["blue"],
    "early": LIGHT["orange"],
    "late": LIGHT["vermilion"],
    "missed": LIGHT["purple"],
    "false_alarm": LIGHT["vermilion"],
    "out_of_range": LIGHT["brown"],
    "unread": LIGHT["grey"],
    "not_recorded": LIGHT["olive"],
}

ROW_HEIGHT, LINE_HEIGHT = 22, 14
"""The height in pixels of a row of a chart, and of each further line of its label."""
MOST_RUNS = 6
"""With more runs, a map of colours replaces dots and intervals."""
FEWEST = 5
"""No line joins points of fewer samples."""
LINE = 22
"""The most characters in a line of a label."""
MOST_NUMBERS = 9
"""With more columns, the cells of a map have no numbers."""
INTERVALS = "Bars are 95% intervals."
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross"]
CHOSEN = "chosen"
"""The parameter of charts that show one run at a time."""


def page_colours() -> str:
    """The colours as CSS variables, for both themes."""
    rules = []
    for place, selector in enumerate((":root", ':root[data-theme="dark"]')):
        own = {name: pair[place] for name, pair in _SURFACES.items()}
        own |= {role: COLOURS[name][place] for role, name in _ROLES.items()}
        shadow = "none" if place else "0 1px 2px rgb(16 24 40 / 6%)"
        listed = "; ".join(f"--{name}: {colour}" for name, colour in own.items())
        rules.append(f"{selector} {{ {listed}; --shadow: {shadow}; }}")
    # Paper is white, whatever the theme of the screen.
    whites = "; ".join(f"--{name}: {pair[0]}" for name, pair in _SURFACES.items())
    rules.append(f"@media print {{ :root, :root[data-theme] {{ {whites}; --paper: #fff; }} }}")
    return "\n".join(rules)


def dark_colours() -> dict[str, str]:
    """The dark colour of each light one, for charts."""
    pairs = dict((COLOURS | _SURFACES).values())
    return pairs | dict(zip(HEAT, _DARK_HEAT, strict=True))


def chart_config(font: str = "system-ui, -apple-system, Segoe UI, Roboto, sans-serif") -> Spec:
    """The one theme of all charts, as a configuration of Vega-Lite."""
    muted, line = LIGHT["muted"], LIGHT["line"]
    return {
        "background": None,
        "font": font,
        "lineBreak": "\n",
        "view": {"stroke": None},
        "axis": {
            "labelColor": LIGHT["ink"],
            "titleColor": muted,
            "titleFontWeight": 500,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "labelFontSize": 11.5,
            "titleFontSize": 12,
            "labelLimit": 0,
            "titleLimit": 0,
            "labelLineHeight": 13,
            "labelOverlap": True,
            "labelSeparation": 4,
        },
        "legend": {
            "labelColor": LIGHT["ink"],
            "titleColor": muted,
            "labelFontSize": 11.5,
            "labelLimit": 0,
            "symbolOpacity": 1,
            "rowPadding": 4,
            "columnPadding": 14,
        },
        "range": {"category": RUN_COLOURS, "heatmap": HEAT, "ramp": HEAT},
        "rect": {"stroke": line, "strokeWidth": 0.5},
    }


def chart_library() -> ModuleType:
    """Import Altair when a chart is drawn, because it takes time."""
    import altair

    # Altair limits the rows for notebooks. Here every row is part of the chart.
    altair.data_transformers.disable_max_rows()
    return altair


def save_chart(chart: "Chart", path: Path) -> None:
    """Save a chart as `.svg`, `.png`, `.pdf`, `.html`, or `.json` for Vega-Lite.

    An `.html` page needs no network.
    """
    chart_library()
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in get_args(ChartFormat):
        allowed = ", ".join(f".{ending}" for ending in get_args(ChartFormat))
        raise MisstepError(f"'{path.name}' is not a chart file; its suffix is one of {allowed}")
    path.write_bytes(chart_bytes(chart, cast(ChartFormat, suffix)))


def chart_bytes(chart: "Chart", form: ChartFormat) -> bytes:
    """Draw a chart and return the bytes of the file."""
    # A control character in a label ends the process in the library that draws.
    library = chart_library()
    library.data_transformers.consolidate_datasets = False
    chart = library.Chart.from_dict(printable_strings(chart.to_dict()))
    if form in ("png", "pdf"):
        picture = BytesIO()
        chart.save(picture, format=form, scale_factor=2 if form == "png" else 1)
        return picture.getvalue()
    text = StringIO()
    chart.save(text, format=form, inline=form == "html")
    return text.getvalue().encode()


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
