"""The report on a built set as one HTML page.

The page needs no network and runs no script but its own. All text from models is escaped.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape

from misstep.forge import Example
from misstep.reports._charts import chart_bytes
from misstep.reports._forge_charts import forge_report_charts
from misstep.reports._forge_report import (
    MAX_EXAMPLES,
    RATE_HEADINGS,
    ForgeReport,
    StepPair,
    step_pairs,
)
from misstep.reports._mathml import formulas_and_words, pieces_html, text_html
from misstep.reports._text import page_file, script_hash


def forge_report_page(report: ForgeReport, max_examples: int = MAX_EXAMPLES) -> str:
    """Return the report as HTML.

    Args:
        report: The content.
        max_examples: The number of examples to show.
    """
    style, script = map(page_file, ("forge.css", "forge.js"))
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {script_hash(script)}"
    untouched = [example for example in report.examples if example.untouched]
    shown = [*report.with_error, *untouched][:max_examples]
    body = "\n".join([*_summary(report), *_browser(shown, len(report.examples))])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(report.name)}: injected errors</title>\n<style>{style}</style>\n"
        f"</head>\n<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _summary(report: ForgeReport) -> Iterator[str]:
    yield f"<h1>{escape(report.name)}: worked solutions with an injected error</h1>"
    yield f'<p class="lead">{report.summary}</p>'
    yield '<div class="charts">'
    for title, chart in forge_report_charts(report).items():
        yield f"<figure><h2>{escape(title)}</h2>{chart_bytes(chart, 'svg').decode()}</figure>"
    yield "</div>"
    if report.reject_reasons:
        rows = [(name, f"{count:,}") for name, count in report.reject_reasons.most_common()]
        yield "<h2>Reject reasons</h2>" + _table(("reason", "solutions"), rows)
    if report.rates:
        rates = _table(RATE_HEADINGS, [rate.cells for rate in report.rates])
        yield "<h2>Errors found by critics</h2>" + rates


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', headings)}</tr></thead><tbody>{body}</tbody></table>"


def _browser(shown: Sequence[Example], total: int) -> Iterator[str]:
    kinds = sorted({example.error_type or "untouched" for example in shown})
    options = "".join(f'<option value="{escape(k)}">{escape(k)}</option>' for k in kinds)
    some = "" if len(shown) == total else f" ({len(shown):,} of {total:,})"
    yield f"<h2>Examples{some}</h2>"
    yield (
        '<div class="bar"><button id="before">← before</button><button id="after">next →</button>'
        f'<span id="place"></span><label>type <select id="kind"><option value="">all</option>'
        f"{options}</select></label></div>"
    )
    for number, example in enumerate(shown):
        yield _article(number, example)


def _article(number: int, example: Example) -> str:
    kind = example.error_type or "untouched"
    fields = {
        "problem": example.problem,
        "right answer": example.answer or "",
        "final answer": example.final_answer or "",
        "injected by": example.generator or "",
        "what changed": example.what_changed,
        "why it is wrong": example.why_incorrect,
        "why it is hard to see": example.detection_difficulty,
    }
    about = "".join(
        f"<dt>{name}</dt><dd>{text_html(text)}</dd>" for name, text in fields.items() if text
    )
    where = "untouched" if example.untouched else f"step {example.label}, {kind}"
    return (
        f'<article id="example-{number}" data-kind="{escape(kind)}"><h3>{escape(example.id)}: '
        f'{escape(where)}</h3><dl class="about">{about}</dl><table class="sides"><colgroup>'
        '<col class="index"><col><col></colgroup><thead><tr><th></th><th>original</th>'
        f"<th>modified</th></tr></thead><tbody>{''.join(_rows(example))}</tbody></table></article>"
    )


def _rows(example: Example) -> Iterator[str]:
    for pair in step_pairs(example):
        left, right = marked_changes(pair)
        kind = "error" if pair.index == example.label else "changed" if pair.changed else "same"
        yield (
            f'<tr class="{kind}"><td class="index">{pair.index}</td><td>{left}</td>'
            f"<td>{right}</td></tr>"
        )


def marked_changes(pair: StepPair) -> tuple[str, str]:
    """Return both steps as HTML: removed text in <del>, added text in <ins>."""
    before = formulas_and_words(pair.original or "")
    after = formulas_and_words(pair.modified or "")
    left, right = "", ""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        removed, added = pieces_html(before[a:b]), pieces_html(after[c:d])
        if kind == "equal":
            left, right = left + removed, right + added
        else:
            left += f"<del>{removed}</del>" if removed else ""
            right += f"<ins>{added}</ins>" if added else ""
    return left, right
