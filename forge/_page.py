"""The report as one page: no network, no script but its own, nothing of a model's unescaped."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from misstep.forge._findings import Findings, Rate, charts
from misstep.forge._marked import marked, pairs
from misstep.forge._mathml import text_html
from misstep.forge._plotting import picture_of
from misstep.forge._record import Example

MOST = 200
"""Examples that a page shows if not told otherwise."""


def page(findings: Findings, most: int = MOST) -> str:
    """The report as HTML.

    Args:
        findings: What it tells.
        most: How many examples are shown.
    """
    style, script = (_part(name) for name in ("page.css", "page.js"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    shown = [*findings.wrong, *(one for one in findings.examples if one.untouched)][:most]
    body = "\n".join([*_summary(findings), *_browser(shown, len(findings.examples))])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(findings.name)}: injected errors</title>\n<style>{style}</style>\n"
        f"</head>\n<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    return (files("misstep.forge") / "page" / name).read_text(encoding="utf-8")


def _summary(findings: Findings) -> Iterator[str]:
    wrong, total = len(findings.wrong), len(findings.examples)
    yield f"<h1>{escape(findings.name)}: worked solutions with an injected error</h1>"
    yield (
        f'<p class="lead">{total:,} examples: {wrong:,} with an error, {total - wrong:,} '
        f"untouched; {findings.rejected:,} solutions were rejected.</p>"
    )
    yield '<div class="charts">'
    for title, chart in charts(findings).items():
        picture = picture_of(chart).decode()
        yield f"<figure><h2>{escape(title)}</h2>{picture}</figure>"
    yield "</div>"
    if findings.reasons:
        rows = [(name, f"{count:,}") for name, count in findings.reasons.most_common()]
        yield "<h2>Reject reasons</h2>" + _table(("reason", "solutions"), rows)
    if findings.rates:
        yield "<h2>Errors found by critics</h2>" + _rates_table(findings.rates)


def _rates_table(rates: Sequence[Rate]) -> str:
    rows = [
        (x.critic, x.group, f"{x.total:,}", f"{100 * x.value:.1f}", _interval(x)) for x in rates
    ]
    return _table(("critic", "errors", "number", "found, %", "95% interval"), rows)


def _interval(rate: Rate) -> str:
    return f"{100 * rate.lower:.1f} to {100 * rate.upper:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def _browser(shown: Sequence[Example], total: int) -> Iterator[str]:
    kinds = sorted({one.error_type or "untouched" for one in shown})
    options = "".join(f'<option value="{escape(k)}">{escape(k)}</option>' for k in kinds)
    some = "" if len(shown) == total else f" ({len(shown):,} of {total:,})"
    yield f"<h2>Examples{some}</h2>"
    yield (
        '<div class="bar"><button id="before">← before</button><button id="after">next →</button>'
        f'<span id="place"></span><label>type <select id="kind"><option value="">all</option>'
        f"{options}</select></label></div>"
    )
    for number, one in enumerate(shown):
        yield _article(number, one)


def _article(number: int, example: Example) -> str:
    kind = example.error_type or "untouched"
    told = {
        "problem": example.problem,
        "right answer": example.answer or "",
        "final answer": example.final_answer or "",
        "injected by": example.generator or "",
        "what changed": example.what_changed,
        "why it is wrong": example.why_incorrect,
        "why it is hard to see": example.detection_difficulty,
    }
    about = "".join(
        f"<dt>{name}</dt><dd>{text_html(text)}</dd>" for name, text in told.items() if text
    )
    where = "untouched" if example.untouched else f"step {example.label}, {kind}"
    return (
        f'<article id="example-{number}" data-kind="{escape(kind)}"><h3>{escape(example.id)}: '
        f'{escape(where)}</h3><dl class="about">{about}</dl><table class="sides"><colgroup>'
        '<col class="index"><col><col></colgroup><thead><tr><th></th><th>original</th>'
        f"<th>modified</th></tr></thead><tbody>{''.join(_rows(example))}</tbody></table></article>"
    )


def _rows(example: Example) -> Iterator[str]:
    for pair in pairs(example):
        left, right = marked(pair)
        kind = "error" if pair.index == example.label else "changed" if pair.changed else "same"
        yield (
            f'<tr class="{kind}"><td class="index">{pair.index}</td><td>{left}</td>'
            f"<td>{right}</td></tr>"
        )
