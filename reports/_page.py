"""A report as one page that needs no network.

Nothing of a log is trusted: text is escaped by the template, or reaches the page as JSON and is
shown as text. The page may run its own scripts, named by their digests, and load nothing.
"""

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from misstep.reports._charts import chart_library
from misstep.reports._drawing import Drawing
from misstep.reports._report import Report
from misstep.reports._written import plain

FOLDER = Path(__file__).parent / "page"
VIEWER = "http://127.0.0.1:7575"
"""Where `inspect view` shows logs."""


def report_page(report: Report, place: str, viewer: str = VIEWER) -> str:
    """The page.

    Args:
        report: What it tells.
        place: Where the logs are, as `inspect view --log-dir` takes it.
        viewer: Where the log viewer runs.
    """
    chart_library()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    scripts = [_library(), _text("page.js")]
    style = _text("page.css")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'unsafe-inline'; script-src {' '.join(map(_digest, scripts))}"
    )
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("report.html").render(
        report=report,
        place=place,
        viewer=viewer.rstrip("/"),
        policy=policy,
        scripts=scripts,
        style=style,
        json=_json,
        drawing=_drawing,
        version=version("misstep"),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _library() -> str:
    import vl_convert

    # The default snippet is what makes the libraries known to the page's own script.
    library: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return library.replace("</script", "<\\/script")


def _digest(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _json(content: Any) -> str:  # noqa: ANN401
    """JSON that can stand in a page: nothing in it ends a script or begins a comment."""
    text = json.dumps(plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _drawing(drawing: Drawing) -> dict[str, Any]:
    """A chart with its data, which stands in the page once."""
    spec = drawing.spec
    return {"spec": spec, "columns": list(drawing.table.columns), "rows": _rows(drawing)}


def _rows(drawing: Drawing) -> list[list[Any]]:
    table = drawing.table.astype(object)
    rows: list[list[Any]] = table.where(drawing.table.notna(), None).to_numpy().tolist()
    return rows
