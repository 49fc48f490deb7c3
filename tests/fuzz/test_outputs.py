"""Whatever data and models say, pages, exports, tables and messages keep their form."""

import csv
import io
import json
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from rich.text import Text

from misstep.cli._output import shown
from misstep.loaders import FirstErrorRow
from misstep.plain_text import metric_key, printable
from misstep.reports import Logs, build_report, read_run, report_page
from misstep.reports._exports import export_log
from misstep.reports._text import csv_text
from tests.support.logs import write_first_error_log

PIECES = [
    "<script>",
    "</script>",
    "<img src=x onerror=f()>",
    "</textarea>-->",
    "]]>",
    "<!--",
    "javascript:f()",
    '"',
    "'",
    "&lt;",
    "{{7*7}}",
    "[link=x]",
    "[/]",
    "[bold",
    "\\",
    "\x1b[2J",
    "\x9b31m",
    "\u2028",
    "\u202e",
    "\n",
    "\t",
    "=1+1",
    "@f",
    "-2",
    "|",
    "`",
    "$\\frac{",
    "\\boxed{",
    "é",
]
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join),
)
few = settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
many = settings(max_examples=100, deadline=None)


class Elements(HTMLParser):
    """The elements of a page, and what in them could run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.scripts = 0
        self.active: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.scripts += tag == "script"
        self.active += [
            (name, value)
            for name, value in attrs
            if name.startswith("on") or (value or "").lstrip().lower().startswith("javascript:")
        ]


def written(folder, contents):
    """Write a log whose texts are these; return its path and its rows."""
    names = [f"{number}{''.join(filter(str.isprintable, one))}" for number, one in contents]
    rows = [
        FirstErrorRow.model_construct(
            id=name, problem=text, steps=[text, text], label=i % 3 - 1, subset=f"s{i % 2} {name}"
        )
        for i, (name, (_, text)) in enumerate(zip(names, contents, strict=True))
    ]
    path = folder / "run.eval"
    replies = [rf"{text}\boxed{{{text if i % 4 else 0}}}" for i, (_, text) in enumerate(contents)]
    write_first_error_log(path, rows, replies, model=f"openai/{names[0]}")
    return path, rows, replies


numbered = st.lists(texts, min_size=6, max_size=12).map(lambda some: list(enumerate(some)))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The elements of a page about harmless texts."""
    path, *_ = written(tmp_path_factory.mktemp("plain"), list(enumerate("abcdef")))
    return Elements(report_page(build_report(Logs([read_run(str(path))], [])), "logs"))


@few
@given(contents=numbered)
def test_no_text_becomes_an_element_of_the_page(plain, tmp_path, contents):
    path, *_ = written(tmp_path, contents)
    page = report_page(build_report(Logs([read_run(str(path))], [])), "logs")
    found = Elements(page)
    assert found.scripts == plain.scripts
    # A formula in a text may be drawn.
    assert {tag for tag in found.tags - plain.tags if not tag.startswith("m")} == set()
    assert found.active == plain.active
    assert not any(ord(character) < 32 and character not in "\n\t" for character in page)


@few
@given(contents=numbered)
def test_exports_have_every_row_with_its_text(tmp_path, contents):
    path, rows, replies = written(tmp_path, contents)
    for form in ("processbench", "deltabench", "json"):
        files = export_log(str(path), form).files
        lines = [
            line
            for name, text in files.items()
            if name.endswith(("jsonl", "json"))
            for line in (text.split("\n") if name.endswith("jsonl") else [text])
            if line
        ]
        content = [json.loads(line) for line in lines]
        if form == "json":
            assert len(content) == 1
            continue
        assert len(content) == len(rows)
        saved = json.dumps(content, ensure_ascii=False)
        assert all(json.dumps(reply, ensure_ascii=False)[1:-1] in saved for reply in replies)


@many
@given(st.lists(st.tuples(texts, st.integers() | st.floats(allow_nan=False)), min_size=1))
def test_no_cell_of_a_table_is_a_formula(rows):
    table = csv_text([{"text": text, "number": number} for text, number in rows])
    head, *cells = csv.reader(io.StringIO(table))
    assert head == ["text", "number"]
    assert len(cells) == len(rows)
    for (text, number), (cell, value) in zip(rows, cells, strict=True):
        assert type(number)(value) == number
        formula = cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n")
        assert not formula or float(cell) is not None
        assert cell.lstrip("'") == printable(text).lstrip("'")


@many
@given(texts)
def test_a_name_is_printed_as_it_is_and_controls_no_terminal(text):
    # Rich doubles a backslash at the end, so that it does not escape what follows.
    assert Text.from_markup(shown(text)).plain.rstrip("\\") == printable(text).rstrip("\\")
    assert all(c.isprintable() or c in "\n\t" for c in printable(text))
    key = metric_key(text)
    assert key.isprintable()
    assert "\n" not in Text.from_markup(key).plain
