"""Charts by Vega-Lite through Altair: loading the library, and saving charts."""

from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast, get_args

from misstep.plain_text import printable_strings
from misstep.registry import MisstepError

if TYPE_CHECKING:
    import altair

    Chart = altair.TopLevelMixin

ChartFormat = Literal["svg", "png", "html", "json"]

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


def chart_library() -> ModuleType:
    """Import Altair when a chart is drawn, because it takes time."""
    import altair

    # Altair limits the rows for notebooks. Here every row is part of the chart.
    altair.data_transformers.disable_max_rows()
    return altair


def save_chart(chart: "Chart", path: Path) -> None:
    """Save a chart as `.svg`, `.png`, `.html`, or `.json` for Vega-Lite.

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
    if form == "png":
        picture = BytesIO()
        chart.save(picture, format="png", scale_factor=2)
        return picture.getvalue()
    text = StringIO()
    chart.save(text, format=form, inline=form == "html")
    return text.getvalue().encode()
