"""Charts, by Vega-Lite through Altair: one description, drawn in pages and saved as pictures."""

from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast, get_args

from misstep.registry import MisstepError

if TYPE_CHECKING:
    import altair

    Chart = altair.TopLevelMixin

Picture = Literal["svg", "png", "html", "json"]


def chart_library() -> ModuleType:
    """Altair, loaded when a chart is drawn; it comes with the extra `plots`."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MisstepError(
            f"Charts need a library that is not installed ({error.name}). "
            "Install it: pip install 'misstep[plots]'"
        ) from None
    # Every row is part of the chart: the limit is for notebooks.
    altair.data_transformers.disable_max_rows()
    return altair


def save_chart(chart: "Chart", path: Path) -> None:
    """Save a chart as a picture, or as a page that needs no network, by the name's ending.

    Args:
        chart: The chart.
        path: Where to: `.svg`, `.png`, `.html`, or `.json` for its Vega-Lite description.
    """
    chart_library()
    kind = path.suffix.removeprefix(".").lower()
    if kind not in get_args(Picture):
        allowed = ", ".join(f".{ending}" for ending in get_args(Picture))
        raise MisstepError(f"'{path.name}' is no kind of chart; its name ends in one of {allowed}")
    path.write_bytes(drawn(chart, cast(Picture, kind)))


def drawn(chart: "Chart", kind: Picture) -> bytes:
    """A chart as the bytes of a file."""
    if kind == "png":
        picture = BytesIO()
        chart.save(picture, format="png", scale_factor=2)
        return picture.getvalue()
    text = StringIO()
    chart.save(text, format=kind, inline=kind == "html")
    return text.getvalue().encode()
