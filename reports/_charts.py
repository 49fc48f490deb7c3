"""Charts by Vega-Lite through Altair: the parts that all charts share, and saving them."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from misstep.registry import MisstepError

if TYPE_CHECKING:
    import altair
    import pandas

    Chart = altair.TopLevelMixin

ChartFormat = Literal["svg", "png", "html", "json"]

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
ROW_HEIGHT = 22
"""Pixels of one row of a chart."""
_MOST_ROWS_OF_LEGEND = 6


def chart_library() -> ModuleType:
    """Import Altair when a chart is drawn. It needs the extra `plots`."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MisstepError(
            f"Charts need a library that is not installed ({error.name}). "
            "Install it: pip install 'misstep[plots]'"
        ) from None
    # Altair limits the rows for notebooks. Here every row is part of the chart.
    altair.data_transformers.disable_max_rows()
    return altair


def save_chart(chart: "Chart", path: Path) -> None:
    """Save a chart in the format of the file's suffix. An .html page needs no network.

    Args:
        chart: The chart.
        path: A file name with the suffix `.svg`, `.png`, `.html`, or `.json` for Vega-Lite.

    Raises:
        MisstepError: The suffix is unknown.
    """
    chart_library()
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in get_args(ChartFormat):
        allowed = ", ".join(f".{ending}" for ending in get_args(ChartFormat))
        raise MisstepError(
            f"'{path.name}' is not a chart file; its suffix must be one of {allowed}"
        )
    path.write_bytes(chart_bytes(chart, cast(ChartFormat, suffix)))


def chart_bytes(chart: "Chart", form: ChartFormat) -> bytes:
    """Draw a chart and return the bytes of the file."""
    if form == "png":
        picture = BytesIO()
        chart.save(picture, format="png", scale_factor=2)
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
    wide: bool = False


def report_chart(
    title: str,
    note: str,
    chart: "altair.Chart",
    height: int,
    table: "pandas.DataFrame",
    wide: bool = False,
) -> ReportChart:
    """Return a chart that takes the width of its place on the page."""
    spec = chart.properties(width="container", height=height).to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return ReportChart(title, note, spec, table, wide)


def run_names(table: "pandas.DataFrame") -> list[str]:
    """The runs of a table in their order."""
    return list(dict.fromkeys(table["run"]))


def run_colour(alt: Any, runs: Sequence[str]) -> Any:  # noqa: ANN401
    """One colour per run, with a legend below the chart."""
    colours = [RUN_COLOURS[i % len(RUN_COLOURS)] for i in range(len(runs))]
    columns = 1 if len(runs) <= _MOST_ROWS_OF_LEGEND else 2
    legend = alt.Legend(orient="bottom", columns=columns, title=None, labelLimit=340)
    return alt.Color(
        "run:N", scale=alt.Scale(domain=list(runs), range=colours), legend=legend, sort=None
    )


def picked_run(alt: Any) -> Any:  # noqa: ANN401
    """A selection of one run by a click on the legend."""
    return alt.selection_point(fields=["run"], bind="legend", name="picked")


def chosen_run(alt: Any, runs: Sequence[str]) -> Any:  # noqa: ANN401
    """A menu to choose the run that a chart shows."""
    menu = alt.binding_select(options=list(runs), name="run ")
    return alt.param(name="chosen", value=runs[0], bind=menu)


def faded(alt: Any, picked: Any, full: float = 1.0, faint: float = 0.12) -> Any:  # noqa: ANN401
    """The opacity of a mark: faint if another run is picked."""
    return alt.condition(picked, alt.value(full), alt.value(faint))


def percent_axis(alt: Any, title: str) -> Any:  # noqa: ANN401
    """An axis in percent."""
    return alt.Axis(format=".0%", title=title, tickCount=5)


def interval_rule(
    base: Any,  # noqa: ANN401
    metric: str,
    direction: Literal["x", "y"],
    stroke: float,
    **channels: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A line from the lower to the upper end of a metric's interval."""
    ends = {direction: f"{metric}_lower:Q", f"{direction}2": f"{metric}_upper:Q"}
    return base.mark_rule(strokeWidth=stroke).encode(**channels, **ends)
