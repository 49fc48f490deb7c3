"""Charts by Vega-Lite through Altair: loading the library, and saving charts."""

from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from misstep.plain_text import printable_strings
from misstep.registry import MisstepError

Spec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite, or a part of it."""

if TYPE_CHECKING:
    import altair

    Chart = altair.TopLevelMixin

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
}


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
