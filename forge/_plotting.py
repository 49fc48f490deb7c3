"""What draws charts, loaded when one is drawn: every start of Inspect imports this package."""

from typing import Any


def plotting() -> Any:  # noqa: ANN401 - a module that need not be installed
    """The plotting library."""
    from misstep.reports import chart_library

    return chart_library()


def picture_of(chart: Any) -> bytes:  # noqa: ANN401
    """A chart as SVG."""
    from misstep.reports import chart_bytes

    return chart_bytes(chart, "svg")
