"""What all charts of a report have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair
    import pandas

RUN_COLOURS = [
    "#4269d0",
    "#e8900c",
    "#3ca951",
    "#d6336c",
    "#8a63d2",
    "#0c9fb5",
    "#9c6b4e",
    "#7f8794",
    "#b8a100",
    "#f08ab4",
]
FINDING_COLOURS = {
    "exact": "#3ca951",
    "early": "#f2b134",
    "late": "#e8700c",
    "missed": "#d6336c",
    "unread": "#9aa0aa",
    "right": "#3ca951",
    "false_alarm": "#d6336c",
    "out_of_range": "#8a63d2",
}
ROW = 22
"""Pixels that a line of a chart takes."""
MOST_INTERVALS = 6
_LEGENDROWS = 6


@dataclass(frozen=True)
class Drawing:
    """A chart, what it shows, and its data."""

    title: str
    note: str
    spec: dict[str, Any]
    """Vega-Lite."""
    table: "pandas.DataFrame"
    wide: bool = False


def drawing(
    title: str, note: str, chart: "altair.Chart", table: "pandas.DataFrame", wide: bool = False
) -> Drawing:
    spec = {**chart.to_dict(), "autosize": {"type": "fit-x", "contains": "padding"}}
    return Drawing(title, note, spec, table, wide)


def runs_in(table: "pandas.DataFrame") -> list[str]:
    return list(dict.fromkeys(table["run"]))


def run_colour(alt: Any, runs: Sequence[str]) -> Any:  # noqa: ANN401
    """Runs by colour, with a legend under the chart that picks one out."""
    colours = [RUN_COLOURS[i % len(RUN_COLOURS)] for i in range(len(runs))]
    legend = alt.Legend(
        orient="bottom", columns=1 if len(runs) <= _LEGENDROWS else 2, title=None, labelLimit=340
    )
    return alt.Color(
        "run:N", scale=alt.Scale(domain=list(runs), range=colours), legend=legend, sort=None
    )


def picked_run(alt: Any) -> Any:  # noqa: ANN401
    return alt.selection_point(fields=["run"], bind="legend", name="picked")


def faded(alt: Any, picked: Any, full: float = 1.0, faint: float = 0.12) -> Any:  # noqa: ANN401
    return alt.condition(picked, alt.value(full), alt.value(faint))


def percent_axis(alt: Any, title: str) -> Any:  # noqa: ANN401
    return alt.Axis(format=".0%", title=title, tickCount=5)
