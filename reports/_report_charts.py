"""The charts of the report page, each drawn from one dataframe."""

import re
from typing import TYPE_CHECKING

from misstep.reports._charts import (
    CHOSEN,
    FEWEST,
    FINDING_COLOURS,
    INTERVALS,
    LIGHT,
    MOST_RUNS,
    ROW_HEIGHT,
    RUN_COLOURS,
    ReportChart,
    chart_library,
    chosen_run,
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
    wrapped,
)
from misstep.reports._comparison import LETTER

if TYPE_CHECKING:
    import pandas

ORDERED = ("error_position", "relative_position", "length")
"""Groups that have an order."""


def leaderboard_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """The headline of every run with its interval. Lines join runs that cannot be told apart."""
    alt = chart_library()
    kept = table[~table["published"]].dropna(subset=[metric])
    kept = with_labels(kept, "run")
    kept = kept.assign(_kind=["not ranked" if one else "ranked" for one in kept["apart"]])
    rows = unique(kept, "_run")
    y = alt.Y("_run:N", sort=rows, title=None)
    kinds = unique(kept, "_kind")
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
    x = alt.X(f"{metric}:Q", axis=percent_axis(alt, name), scale=alt.Scale(domain=[0, 1]))
    layers = [
        interval_rule(base, metric, "x", 2.5, color=colour),
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
    note = f"{INTERVALS} {count_note(kept)}"
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
    height = row_height(rows) * len(rows)
    data = kept.drop(columns=["model"])
    return new_chart(f"{name} by run", note, alt.layer(*layers), height, data, wide=True)


def grouped_chart(
    table: "pandas.DataFrame", by: str, metric: str, title: str, name: str
) -> ReportChart:
    """A metric by group of samples: dots with intervals, or a map if there are many runs."""
    alt = chart_library()
    groups = unique(table, by)
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip(f"{by}:N", title=title),
        alt.Tooltip(f"{metric}:Q", format=".1%", title=name),
        alt.Tooltip("samples:Q"),
    ]
    note = f"{INTERVALS} {count_note(table)}"
    heading = f"{name} by {title}"
    ordered = by in ORDERED
    if len(unique(table, "run")) > MOST_RUNS:
        chart, height = colour_map(alt, table, by, metric, title, name, tips)
        return new_chart(heading, f"Percent. {count_note(table)}", chart, height, table)
    if ordered:
        x = alt.X(
            f"{by}:O", sort=groups, title=wrapped(title).split("\n"), axis=alt.Axis(labelAngle=0)
        )
        chart = dodged_lines(alt, table, x, metric, name, tips)
        if (table["samples"] < FEWEST).any():
            note += f" No line joins points of fewer than {FEWEST} samples."
        return new_chart(heading, note, chart, 240, table)
    table = with_labels(with_labels(table.dropna(subset=[metric]), "run"), by)
    runs, labels = unique(table, "_run"), unique(table, f"_{by}")
    base = alt.Chart(table).encode(
        y=alt.Y(f"_{by}:N", sort=labels, title=None),
        yOffset=alt.YOffset("_run:N", sort=runs, scale=alt.Scale(paddingInner=0.2)),
    )
    encodings = run_encodings(alt, runs)
    rule = interval_rule(base, metric, "x", 1.6, color=encodings["color"], opacity=alt.value(0.6))
    x = alt.X(f"{metric}:Q", axis=percent_axis(alt, name), scale=alt.Scale(domain=[0, 1]))
    dots = base.mark_point(filled=True, size=44, opacity=1).encode(x=x, tooltip=tips, **encodings)
    height = len(labels) * max(row_height(labels), 10 * len(runs) + 6)
    return new_chart(heading, note, rule + dots, height, table)


def votes_chart(table: "pandas.DataFrame", metric: str, name: str) -> ReportChart:
    """A metric by number of votes."""
    alt = chart_library()
    tips = ["run:N", "votes:O", alt.Tooltip(f"{metric}:Q", format=".1%", title=name), "samples:Q"]
    note = f"All points use the same votes: k votes are the first k. {count_note(table)}"
    if len(unique(table, "run")) > MOST_RUNS:
        chart, height = colour_map(alt, table, "votes", metric, "votes", name, tips)
        return new_chart(f"{name} by votes", note, chart, height, table)
    x = alt.X("votes:O", title="votes", axis=alt.Axis(labelAngle=0))
    chart = dodged_lines(alt, table, x, metric, name, tips, domain=None)
    return new_chart(f"{name} by votes", note, chart, 240, table)


def checkpoints_chart(
    table: "pandas.DataFrame", tag: str, metric: str, name: str, dates: bool
) -> ReportChart:
    """A metric of runs in the order of a tag: one curve for each family of models."""
    alt = chart_library()
    table = table.rename(columns={"family": "run"})
    table = with_labels(table, "run")
    runs = unique(table, "_run")
    encodings = run_encodings(alt, runs)
    kind = "T" if dates else "Q"
    spread = table["place"].max() / max(table["place"].min(), 1e-9) if not dates else 1
    scale = (
        alt.Scale(type="log")
        if not dates and spread >= 100 and table["place"].min() > 0
        else (alt.Scale(zero=False))
    )
    x = alt.X(f"place:{kind}", title=tag, scale=scale, axis=alt.Axis(tickCount=6))
    y = alt.Y(f"{metric}:Q", axis=percent_axis(alt, name), scale=alt.Scale(zero=False))
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
    note = f"Bands are 95% intervals. {count_note(table)}"
    return new_chart(f"{name} by {tag}", note, band + line + dots, 280, table, wide=True)


def budget_chart(table: "pandas.DataFrame", what: str) -> ReportChart:
    """Accuracy by what a sample used: tokens or calls."""
    alt = chart_library()
    table = with_labels(table, "run")
    encodings = run_encodings(alt, unique(table, "_run"))
    base = alt.Chart(table)
    x = alt.X(f"{what}_a_sample:Q", title=f"{what} per sample", scale=alt.Scale(zero=False))
    rule = interval_rule(
        base, "accuracy", "y", 1.6, x=x, color=encodings["color"], opacity=alt.value(0.6)
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x,
        y=alt.Y("accuracy:Q", axis=percent_axis(alt, "accuracy"), scale=alt.Scale(zero=False)),
        tooltip=[
            "run:N",
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip(f"{what}_a_sample:Q", format=",.1f", title=f"{what} per sample"),
        ],
        **encodings,
    )
    note = f"{INTERVALS} {count_note(table)}"
    return new_chart(f"Accuracy and {what}", note, rule + dots, 260, table)


def findings_chart(table: "pandas.DataFrame", solutions: str) -> ReportChart:
    """The share of each finding by run."""
    alt = chart_library()
    kept = with_labels(table[table["solutions"] == solutions], "run")
    kept = kept.assign(finding=kept["finding"].str.replace("_", " "))
    names = unique(kept, "finding")
    order = {name: place for place, name in enumerate(names)}
    known = {name.replace("_", " "): colour for name, colour in FINDING_COLOURS.items()}
    colours = alt.Scale(domain=names, range=[known[name] for name in names])
    runs = unique(kept, "_run")
    x = alt.X(
        "share:Q",
        stack="zero",
        axis=percent_axis(alt, "share of samples"),
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
    if "not recorded" in names:
        note += " Not recorded: the recorded scores end before a verdict. It counts as wrong."
    totals = kept.groupby("run")["samples"].sum().reset_index()
    title = f"Verdicts on solutions {solutions}"
    height = row_height(runs) * len(runs)
    return new_chart(title, f"{note} {count_note(totals)}", chart, height, kept)


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
        .add_params(chosen_run(alt, table))
    )
    note = "Each row adds up to 100%. On the diagonal the verdict is exact."
    height = ROW_HEIGHT * len(labelled)
    return new_chart("Predicted and labelled positions", note, chart, height, table)


def _position_order(place: str) -> tuple[int, int]:
    words = {"none": -1, "other": 10**6, "unread": 10**6 + 1, "not recorded": 10**6 + 2}
    return (words[place], 0) if place in words else (int(place.rstrip("+")), place.endswith("+"))


def recovery_rates_chart(table: "pandas.DataFrame", by: str) -> ReportChart:
    """The rate of right answers by variation of error recovery and by part, one run at a time."""
    alt = chart_library()
    table = with_labels(table, "part")
    parts, names = unique(table, "_part"), unique(table, "variation")
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
        x=alt.X("rate:Q", axis=percent_axis(alt, "right"), scale=alt.Scale(domain=[0, 1])),
        tooltip=["part:N", "variation:N", alt.Tooltip("rate:Q", format=".1%")],
    )
    layers = (rule + dots).add_params(chosen_run(alt, table))
    note = "Without given reasoning (NR), with correct (CR) and with incorrect (IR) reasoning."
    if len(names) > 3:
        note += " XC and XI: the user gives it. CRm and IRm: a marker follows it."
    if "samples" in table:
        note += f" {count_note(table)}"
    height = max(row_height(parts), 16 * len(names)) * len(parts)
    return new_chart(f"Recovery: {by.lower()}", note, layers, height, table)


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
    """The AUROC of rewards, of length, position and style alone, and of adjusted rewards."""
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
