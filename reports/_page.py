"""A report as one HTML page that needs no network.

Text from logs is never trusted: the template escapes it, or it is in the page as JSON and shown as
text. The page may run only its own scripts, named by their hashes, and may load nothing.
"""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from misstep.reports._charts import chart_library
from misstep.reports._report import Report
from misstep.reports._report_charts import ReportChart
from misstep.reports._text import page_file, script_hash, to_json

VIEWER = "http://127.0.0.1:7575"
"""The default address of `inspect view`."""


def report_page(report: Report, place: str, viewer: str = VIEWER) -> str:
    """Return the page as HTML.

    Args:
        report: The content.
        place: The folder of the logs, as for `inspect view --log-dir`.
        viewer: The address of the log viewer.
    """
    chart_library()
    import vl_convert
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # The default snippet of the bundle exports the libraries to the page's own script.
    library: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    scripts = [library.replace("</script", "<\\/script"), page_file("page.js")]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'unsafe-inline'; script-src {' '.join(map(script_hash, scripts))}"
    )
    environment = Environment(
        loader=PackageLoader("misstep.reports", "page"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("report.html").render(
        report=report,
        place=place,
        viewer=viewer.rstrip("/"),
        policy=policy,
        scripts=scripts,
        style=page_file("page.css"),
        json=_script_json,
        chart_data=_chart_data,
        version=version("misstep"),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _script_json(content: Any) -> str:  # noqa: ANN401
    """JSON that is safe in a script element: it cannot end the script or start a comment."""
    text = json.dumps(to_json(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _chart_data(chart: ReportChart) -> dict[str, Any]:
    """The description of a chart, and its data as a table."""
    table = chart.table.astype(object)
    rows: list[list[Any]] = table.where(chart.table.notna(), None).to_numpy().tolist()
    return {"spec": chart.spec, "columns": list(chart.table.columns), "rows": rows}
