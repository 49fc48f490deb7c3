"""The charts of the report page, each drawn from one dataframe.

All have one theme. Labels are wrapped, never cut. Intervals of several runs stand side by side. A
line joins only points that have an order and enough samples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from misstep.reports._charts import FINDING_COLOURS, LIGHT, RUN_COLOURS, chart_library
from misstep.reports._compared import LETTER
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
ORDERED = ("error_position", "relative_position", "length")
"""Groups that have an order."""


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


def _row_height(labels: Sequence[str]) -> int:
    return ROW_HEIGHT + LINE_HEIGHT * (_line_count(labels) - 1)


def _report_chart(
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


def _with_labels(table: "pandas.DataFrame", column: str, width: int = LINE) -> "pandas.DataFrame":
    """Add the wrapped labels of a column as `_column`."""
    return table.assign(**{f"_{column}": [wrapped(str(one), width) for one in table[column]]})


def _unique(table: "pandas.DataFrame", column: str) -> list[str]:
    return list(dict.fromkeys(table[column]))


def _run_encodings(alt: Altair, runs: Sequence[str]) -> dict[str, Altair]:
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


def _chosen_run(alt: Altair, table: "pandas.DataFrame") -> Altair:
    """A menu to choose the run that a chart shows."""
    runs = _unique(table, "run")
    menu = alt.binding_select(options=runs, name="run ")
    return alt.param(name=CHOSEN, value=runs[0], bind=menu)


def _percent_axis(alt: Altair, title: str) -> Altair:
    return alt.Axis(format=".0%", title=wrapped(title).split("\n"), tickCount=5)


def _interval_rule(
    base: Altair, metric: str, direction: str, stroke: float, **channels: Altair
) -> Altair:
    """A line from the lower to the upper end of a metric's interval."""
    ends = {direction: f"{metric}_lower:Q", f"{direction}2": f"{metric}_upper:Q"}
    return base.mark_rule(strokeWidth=stroke).encode(**channels, **ends)


def _count_note(table: "pandas.DataFrame", column: str = "samples") -> str:
    """Say how many samples stand behind the points."""
    known = table[column].dropna()
    if known.empty:
        return ""
    low, high = int(known.min()), int(known.max())
    return f"n = {low:,}." if low == high else f"n = {low:,} to {high:,} for each point."


def _dodged_lines(
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
    table = _with_labels(table.dropna(subset=[metric]), "run")
    runs = _unique(table, "_run")
    encodings = _run_encodings(alt, runs)
    offset = alt.XOffset("_run:N", sort=runs, scale=alt.Scale(paddingInner=0.3, paddingOuter=0.6))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    axis = _percent_axis(alt, name) if percent else alt.Axis(format=".2f", title=name, tickCount=5)
    y = alt.Y(f"{metric}:Q", axis=axis, scale=scale)
    base = alt.Chart(table).encode(x=x, **({"xOffset": offset} if len(runs) > 1 else {}))
    layers = []
    if joined:
        enough = base.transform_filter(f"datum[{count!r}] >= {FEWEST}")
        layers.append(
            enough.mark_line(strokeWidth=1.5, opacity=0.45).encode(y=y, color=encodings["color"])
        )
    layers += [
        _interval_rule(base, metric, "y", 1.6, color=encodings["color"], opacity=alt.value(0.6)),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            y=y, tooltip=list(tips), **encodings
        ),
    ]
    return alt.layer(*layers)


def _map(
    alt: Altair,
    table: "pandas.DataFrame",
    by: str,
    metric: str,
    title: str,
    name: str,
    tips: Altair,
) -> tuple[Altair, int]:
    """A map of colours: one row per run, one column per group. Returns the chart and its height."""
    table = _with_labels(table.dropna(subset=[metric]), "run")
    groups, runs = _unique(table, by), _unique(table, "_run")
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
    height = _row_height(runs) * len(runs)
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


def leaderboard_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """The headline of every run with its interval. Lines join runs that cannot be told apart."""
    alt = chart_library()
    kept = table[~table["published"]].dropna(subset=[metric])
    kept = _with_labels(kept, "run")
    kept = kept.assign(_kind=["not ranked" if one else "ranked" for one in kept["apart"]])
    rows = _unique(kept, "_run")
    y = alt.Y("_run:N", sort=rows, title=None)
    kinds = _unique(kept, "_kind")
    legend = alt.Legend(orient="bottom", title=None) if len(kinds) > 1 else None
    domain = ["ranked", "not ranked"]
    colour = alt.Color(
        "_kind:N",
        scale=alt.Scale(domain=domain, range=[LIGHT["blue"], LIGHT["grey"]]),
        legend=legend,
    )
    shape = alt.Shape(
        "_kind:N", scale=alt.Scale(domain=domain, range=["circle", "diamond"]), legend=legend
    )
    base = alt.Chart(kept).encode(y=y)
    x = alt.X(f"{metric}:Q", axis=_percent_axis(alt, name), scale=alt.Scale(domain=[0, 1]))
    layers = [
        _interval_rule(base, metric, "x", 2.5, color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=x,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip(f"{metric}:Q", format=".1%", title=name),
                alt.Tooltip("samples:Q"),
            ],
        ),
    ]
    note = f"{INTERVALS} {_count_note(kept)}"
    groups: dict[str, list[str]] = {}
    for row, tied in zip(kept["_run"], kept["tied"], strict=True):
        for letter in re.findall(LETTER, tied):
            groups.setdefault(letter, []).append(row)
    ends = [{"_run": one[0], "_last": one[-1]} for one in groups.values() if len(one) > 1]
    if ends:
        for place, end in enumerate(ends):
            layers.append(
                alt.Chart(alt.Data(values=[end]))
                .mark_rule(strokeWidth=3, strokeCap="round", color=LIGHT["ink"], opacity=0.6)
                .encode(
                    y=alt.Y("_run:N", sort=rows, title=None),
                    y2="_last:N",
                    x=alt.value(alt.expr(f"width - {4 + 8 * place}")),
                )
            )
        note += " Runs that a line on the right joins cannot be told apart."
    height = _row_height(rows) * len(rows)
    data = kept.drop(columns=["model"])
    return _report_chart(f"{name} by run", note, alt.layer(*layers), height, data, wide=True)


def grouped_chart(
    table: "pandas.DataFrame", by: str, metric: str, title: str, name: str
) -> ReportChart:
    """A metric by group of samples: dots with intervals, or a map if there are many runs."""
    alt = chart_library()
    groups = _unique(table, by)
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip(f"{by}:N", title=title),
        alt.Tooltip(f"{metric}:Q", format=".1%", title=name),
        alt.Tooltip("samples:Q"),
    ]
    note = f"{INTERVALS} {_count_note(table)}"
    heading = f"{name} by {title}"
    ordered = by in ORDERED
    if len(_unique(table, "run")) > MOST_RUNS:
        chart, height = _map(alt, table, by, metric, title, name, tips)
        return _report_chart(heading, f"Percent. {_count_note(table)}", chart, height, table)
    if ordered:
        x = alt.X(
            f"{by}:O", sort=groups, title=wrapped(title).split("\n"), axis=alt.Axis(labelAngle=0)
        )
        chart = _dodged_lines(alt, table, x, metric, name, tips)
        if (table["samples"] < FEWEST).any():
            note += f" No line joins points of fewer than {FEWEST} samples."
        return _report_chart(heading, note, chart, 240, table)
    table = _with_labels(_with_labels(table.dropna(subset=[metric]), "run"), by)
    runs, labels = _unique(table, "_run"), _unique(table, f"_{by}")
    base = alt.Chart(table).encode(
        y=alt.Y(f"_{by}:N", sort=labels, title=None),
        yOffset=alt.YOffset("_run:N", sort=runs, scale=alt.Scale(paddingInner=0.2)),
    )
    encodings = _run_encodings(alt, runs)
    rule = _interval_rule(base, metric, "x", 1.6, color=encodings["color"], opacity=alt.value(0.6))
    x = alt.X(f"{metric}:Q", axis=_percent_axis(alt, name), scale=alt.Scale(domain=[0, 1]))
    dots = base.mark_point(filled=True, size=44, opacity=1).encode(x=x, tooltip=tips, **encodings)
    height = len(labels) * max(_row_height(labels), 10 * len(runs) + 6)
    return _report_chart(heading, note, rule + dots, height, table)


def votes_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """A metric by number of votes."""
    alt = chart_library()
    tips = ["run:N", "votes:O", alt.Tooltip(f"{metric}:Q", format=".1%", title=name), "samples:Q"]
    note = f"All points use the same votes: k votes are the first k. {_count_note(table)}"
    if len(_unique(table, "run")) > MOST_RUNS:
        chart, height = _map(alt, table, "votes", metric, "votes", name, tips)
        return _report_chart(f"{name} by votes", note, chart, height, table)
    x = alt.X("votes:O", title="votes", axis=alt.Axis(labelAngle=0))
    chart = _dodged_lines(alt, table, x, metric, name, tips, domain=None)
    return _report_chart(f"{name} by votes", note, chart, 240, table)


def checkpoints_chart(
    table: "pandas.DataFrame", tag: str, metric: str, name: str, dates: bool
) -> ReportChart:
    """A metric of runs in the order of a tag: one curve for each family of models."""
    alt = chart_library()
    table = table.rename(columns={"family": "run"})
    table = _with_labels(table, "run")
    runs = _unique(table, "_run")
    encodings = _run_encodings(alt, runs)
    kind = "T" if dates else "Q"
    spread = table["place"].max() / max(table["place"].min(), 1e-9) if not dates else 1
    scale = (
        alt.Scale(type="log")
        if not dates and spread >= 100 and table["place"].min() > 0
        else (alt.Scale(zero=False))
    )
    x = alt.X(f"place:{kind}", title=tag, scale=scale, axis=alt.Axis(tickCount=6))
    y = alt.Y(f"{metric}:Q", axis=_percent_axis(alt, name), scale=alt.Scale(zero=False))
    base = alt.Chart(table).encode(x=x)
    enough = base.transform_filter(f"datum.samples >= {FEWEST}")
    line = enough.mark_line(strokeWidth=2, opacity=0.7).encode(y=y, color=encodings["color"])
    band = enough.mark_area(opacity=0.15).encode(
        y=f"{metric}_lower:Q", y2=f"{metric}_upper:Q", color=encodings["color"]
    )
    tips = [
        "model:N",
        alt.Tooltip(f"{tag}:N"),
        alt.Tooltip(f"{metric}:Q", format=".1%"),
        "samples:Q",
    ]
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(y=y, tooltip=tips, **encodings)
    note = f"Bands are 95% intervals. {_count_note(table)}"
    return _report_chart(f"{name} by {tag}", note, band + line + dots, 280, table, wide=True)


def budget_chart(table: "pandas.DataFrame", what: str) -> ReportChart:
    """Accuracy by what a sample used: tokens or calls."""
    alt = chart_library()
    table = _with_labels(table, "run")
    encodings = _run_encodings(alt, _unique(table, "_run"))
    base = alt.Chart(table)
    x = alt.X(f"{what}_a_sample:Q", title=f"{what} per sample", scale=alt.Scale(zero=False))
    rule = _interval_rule(
        base, "accuracy", "y", 1.6, x=x, color=encodings["color"], opacity=alt.value(0.6)
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x,
        y=alt.Y("accuracy:Q", axis=_percent_axis(alt, "accuracy"), scale=alt.Scale(zero=False)),
        tooltip=[
            "run:N",
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip(f"{what}_a_sample:Q", format=",.1f", title=f"{what} per sample"),
        ],
        **encodings,
    )
    note = f"{INTERVALS} {_count_note(table)}"
    return _report_chart(f"Accuracy and {what}", note, rule + dots, 260, table)


def findings_chart(table: "pandas.DataFrame", solutions: str) -> ReportChart:
    """The share of each finding by run."""
    alt = chart_library()
    kept = _with_labels(table[table["solutions"] == solutions], "run")
    kept = kept.assign(finding=kept["finding"].str.replace("_", " "))
    names = _unique(kept, "finding")
    order = {name: place for place, name in enumerate(names)}
    known = {name.replace("_", " "): colour for name, colour in FINDING_COLOURS.items()}
    colours = alt.Scale(domain=names, range=[known[name] for name in names])
    runs = _unique(kept, "_run")
    x = alt.X(
        "share:Q",
        stack="zero",
        axis=_percent_axis(alt, "share of samples"),
        scale=alt.Scale(domain=[0, 1]),
    )
    legend = alt.Legend(orient="bottom", title=None, columns=3)
    chart = (
        alt.Chart(kept.assign(_order=kept["finding"].map(order)))
        .mark_bar(size=18)
        .encode(
            y=alt.Y("_run:N", sort=runs, title=None),
            x=x,
            color=alt.Color("finding:N", scale=colours, sort=None, legend=legend),
            order="_order:Q",
            tooltip=["run:N", "finding:N", "samples:Q", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    note = (
        "Early and late: the verdict is before or after the first error. Missed: the verdict is "
        "'no error'. Unread: there is no verdict."
        if solutions == "with an error"
        else "False alarm: the verdict names an error, but there is none."
    )
    totals = kept.groupby("run")["samples"].sum().reset_index()
    title = f"Verdicts on solutions {solutions}"
    height = _row_height(runs) * len(runs)
    return _report_chart(title, f"{note} {_count_note(totals)}", chart, height, kept)


def confusion_chart(table: "pandas.DataFrame") -> ReportChart:
    """Predicted positions by labelled position, one run at a time."""
    alt = chart_library()
    labelled = sorted(set(table["labelled"]), key=_position_order)
    places = sorted({*labelled, *table["predicted"]}, key=_position_order)
    x = alt.X(
        "predicted:O",
        sort=places,
        title="predicted",
        axis=alt.Axis(labelAngle=0),
        scale=alt.Scale(domain=places),
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        legend=alt.Legend(
            type="gradient", format=".0%", title=None, orient="bottom", gradientLength=100
        ),
    )
    tips = ["labelled:O", "predicted:O", "samples:Q", alt.Tooltip("share:Q", format=".1%")]
    chart = (
        alt.Chart(table)
        .transform_filter(f"datum.run == {CHOSEN}")
        .mark_rect(cornerRadius=2)
        .encode(
            x=x,
            y=alt.Y("labelled:O", sort=places, title="labelled", scale=alt.Scale(domain=labelled)),
            color=colour,
            tooltip=tips,
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
    table = _with_labels(table, "run")
    runs = _unique(table, "_run")
    encodings = _run_encodings(alt, runs)
    unit = alt.Scale(domain=[0, 1])
    ideal = (
        alt.Chart(alt.Data(values=[{"at": 0}, {"at": 1}]))
        .mark_line(strokeDash=[4, 4], color=LIGHT["grey"], strokeWidth=1)
        .encode(x="at:Q", y="at:Q")
    )
    formats = {"reward": ".3f", "right": ".1%", "calibration_error": ".3f", "brier": ".3f"}
    tips = [alt.Tooltip(f"{name}:Q", format=form) for name, form in formats.items()]
    x = alt.X("reward:Q", title="reward", scale=unit)
    y = alt.Y("right:Q", axis=_percent_axis(alt, "right steps"), scale=unit)
    base = alt.Chart(table).encode(x=x)
    enough = base.transform_filter(f"datum.steps >= {FEWEST}")
    layers = [
        ideal,
        enough.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=y, color=encodings["color"]),
        _interval_rule(base, "right", "y", 1.4, color=encodings["color"], opacity=alt.value(0.5)),
        base.mark_point(filled=True, size=44, opacity=1).encode(
            y=y, tooltip=["run:N", *tips, "steps:Q"], **encodings
        ),
    ]
    note = (
        "Steps are sorted by reward into bins of about equal counts. On the dashed line, rewards "
        "are probabilities. Steps after the first error have no label and are left out. "
        f"{_count_note(table, 'steps')}"
    )
    return _report_chart("Calibration of rewards", note, alt.layer(*layers), 260, table)


def bias_chart(table: "pandas.DataFrame", title: str, by: str) -> ReportChart:
    """The mean reward of right steps by a property of the step that should not matter."""
    alt = chart_library()
    table = table.rename(columns={"group": by})
    groups = _unique(table, by)
    tips = [
        "run:N",
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("reward:Q", format=".3f"),
        alt.Tooltip("steps:Q"),
    ]
    note = (
        "Only steps that are labelled right: their rewards should not depend on this. "
        f"{INTERVALS} {_count_note(table, 'steps')}"
    )
    if len(_unique(table, "run")) > MOST_RUNS:
        chart, height = _map(alt, table, by, "reward", by, "mean reward", tips)
        return _report_chart(title, note, chart, height, table)
    x = alt.X(f"{by}:N", sort=groups, title=f"{by} of the step", axis=alt.Axis(labelAngle=0))
    style = by == "style"
    if style:
        table = _with_labels(table, by, 12)
        x = alt.X(
            f"_{by}:N", sort=_unique(table, f"_{by}"), title=None, axis=alt.Axis(labelAngle=0)
        )
    chart = _dodged_lines(
        alt, table, x, "reward", "mean reward", tips, not style, "steps", None, percent=False
    )
    return _report_chart(title, note, chart, 240, table)


def skill_chart(table: "pandas.DataFrame") -> ReportChart:
    """The AUROC of rewards, of what length, position and style give alone, and of what is left."""
    alt = chart_library()
    table = _with_labels(_with_labels(table, "run"), "what")
    kinds, runs = _unique(table, "_what"), _unique(table, "_run")
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
        _interval_rule(base, "auroc", "x", 2),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x, tooltip=tips, shape=alt.Shape("_what:N", scale=shapes, legend=legend, sort=None)
        ),
    ]
    note = (
        "How well rewards tell wrong steps from right ones; how well the length, the position and "
        "the style of a step do without any reward; and the rewards after these are accounted "
        f"for. {INTERVALS} {_count_note(table, 'steps')}"
    )
    height = max(_row_height(runs), 42) * len(runs)
    return _report_chart("Skill left after biases", note, alt.layer(*layers), height, table, True)


def recovery_rates_chart(table: "pandas.DataFrame", by: str) -> ReportChart:
    """The rate of right answers by variation of error recovery and by part, one run at a time."""
    alt = chart_library()
    table = _with_labels(table, "part")
    parts, names = _unique(table, "_part"), _unique(table, "variation")
    colours = alt.Scale(domain=names, range=RUN_COLOURS[: len(names)])
    base = (
        alt.Chart(table)
        .transform_filter(f"datum.run == {CHOSEN}")
        .encode(
            y=alt.Y("_part:N", sort=parts, title=None),
            yOffset=alt.YOffset("variation:N", sort=names),
            color=alt.Color(
                "variation:N",
                sort=names,
                legend=alt.Legend(orient="bottom", title=None),
                scale=colours,
            ),
        )
    )
    rule = base.mark_rule(strokeWidth=2).encode(x="lower:Q", x2="upper:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("rate:Q", axis=_percent_axis(alt, "right"), scale=alt.Scale(domain=[0, 1])),
        tooltip=["part:N", "variation:N", alt.Tooltip("rate:Q", format=".1%")],
    )
    layers = (rule + dots).add_params(_chosen_run(alt, table))
    note = "Without given reasoning (NR), with correct (CR) and with incorrect (IR) reasoning."
    if len(names) > 3:
        note += " XC and XI: the user gives it. CRm and IRm: a marker follows it."
    if "samples" in table:
        note += f" {_count_note(table)}"
    height = max(_row_height(parts), 16 * len(names)) * len(parts)
    return _report_chart(f"Recovery: {by.lower()}", note, layers, height, table)
