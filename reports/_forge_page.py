"""The report on a built set as one HTML page, and as Markdown.

The page needs no network and runs no script but its own. All text from models is escaped.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from misstep.forge import Example
from misstep.reports._charts import chart_bytes
from misstep.reports._forge_charts import forge_report_charts
from misstep.reports._forge_report import RATE_HEADINGS, ForgeReport, StepPair, step_pairs
from misstep.reports._mathml import formulas_and_words, pieces_html, text_html
from misstep.reports._text import markdown_table, markdown_text, page_file, script_hash

MAX_EXAMPLES = 200
"""The default number of examples in a report."""
_MOST_COMPARED = 200_000
"""The product of the lengths of two steps, in words and spaces, that are compared word by word."""


def forge_report_markdown(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as Markdown. Examples are lists of their changed steps."""
    return _render("forge.md", report, report.with_error[:max_examples], table=markdown_table)


def forge_report_page(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as HTML. Examples show both solutions side by side."""
    untouched = [example for example in report.examples if example.untouched]
    script = page_file("forge.js")
    charts = forge_report_charts(report)
    return _render(
        "forge.html",
        report,
        [*report.with_error, *untouched][:max_examples],
        charts=[(title, chart_bytes(chart, "svg").decode()) for title, chart in charts.items()],
        style=page_file("forge.css"),
        script=script,
        hash=script_hash(script),
    )


def _render(name: str, report: ForgeReport, shown: Sequence[Example], **more: object) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("misstep.reports", "page"),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "fenced": _fenced,
        "formulas": text_html,
        "kind": lambda example: example.error_type or "untouched",
        "markdown": markdown_text,
        "marked_changes": marked_changes,
        "step_pairs": step_pairs,
    }
    template = environment.get_template(name)
    return template.render(report=report, shown=shown, rate_headings=RATE_HEADINGS, **more)


def _fenced(text: str, kind: str = "text") -> str:
    """Return text in a code fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def marked_changes(pair: StepPair) -> tuple[str, str]:
    """Return both steps as HTML: removed text in <del>, added text in <ins>."""
    before = formulas_and_words(pair.original or "")
    after = formulas_and_words(pair.modified or "")
    left, right = "", ""
    for kind, a, b, c, d in _changes(before, after):
        removed, added = pieces_html(before[a:b]), pieces_html(after[c:d])
        if kind == "equal":
            left, right = left + removed, right + added
        else:
            left += f"<del>{removed}</del>" if removed else ""
            right += f"<ins>{added}</ins>" if added else ""
    return left, right


def _changes(before: list[str], after: list[str]) -> Iterable[tuple[str, int, int, int, int]]:
    """Return the changes between two lists, as `SequenceMatcher.get_opcodes` returns them."""
    if len(before) * len(after) <= _MOST_COMPARED:
        return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    # The comparison takes cubic time. In long steps only the same start and end are found.
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    most = shorter - start
    end = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    a, b = len(before) - end, len(after) - end
    return [
        ("equal", 0, start, 0, start),
        ("replace", start, a, start, b),
        ("equal", a, len(before), b, len(after)),
    ]
