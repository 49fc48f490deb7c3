"""Script tags, markup and terminal escapes in everything that comes from data and models."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from misstep.cli._main import cli
from misstep.loaders import FirstErrorRow
from tests.reports.conftest import dataset, write_run
from tests.reports.test_page import Opened

SCRIPT = "<script>alert(1)</script>"
NASTY = f"{SCRIPT}<img src=x onerror=alert(2)></script></textarea>-->{{{{7*7}}}}"
TERMINAL = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
MARKDOWN = "|[x](javascript:alert(3))`*_<u>"
LATEX = r"\(\href{javascript:alert(4)}{x}\) \(\text{<img src=x onerror=alert(5)>}\) $x<script>$"
TEXT = f"{NASTY}{TERMINAL}{MARKDOWN}{LATEX}[bold red]"


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """Two runs whose every text is hostile."""
    folder = tmp_path_factory.mktemp("nasty")
    rows = [
        # The loaders refuse such names, but a log can come from anywhere.
        FirstErrorRow.model_construct(
            id=f"{i} {TEXT}",
            problem=TEXT,
            steps=[TEXT, TEXT],
            label=i % 3 - 1,
            subset=f"{i % 2}{TEXT}",
            generator=f"={i % 2}{TEXT}",
        )
        for i in range(12)
    ]
    for number in range(2):
        replies = [rf"{TEXT}\boxed{{{number if i % 4 else TEXT}}}" for i in range(len(rows))]
        write_run(
            folder / f"{number}.eval",
            replies,
            rows=rows,
            model=f"openai/{number}{TEXT}",
            dataset=dataset(rows, f"data {TEXT}"),
            task_args_passed={"critic": f"{TEXT}"},
        )
    write_run(folder / f"skip {SCRIPT.replace('/', '')}.eval", [], rows=[], task=f"x/{TEXT}")
    return folder


def test_the_page_shows_it_and_runs_nothing_of_it(nasty, tmp_path, chromium):
    path = tmp_path / "report.html"
    result = CliRunner().invoke(cli, ["report", str(nasty), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    text = path.read_text(encoding="utf-8")
    assert SCRIPT not in text
    assert "<img src=x" not in text
    assert "{{7*7}}" in text.replace("&#34;", "")
    opened = Opened(chromium, path)
    opened.draw_all()
    page = opened.page
    for details in page.locator("details").all():
        details.locator("> summary").click()
    page.locator("svg path").first.hover(force=True)
    assert SCRIPT in page.locator("#leaderboard-1").inner_text()
    expect(page.locator(".list").first).to_contain_text(SCRIPT)
    page.locator(".list button").first.click()
    steps = page.locator("dialog[open] .steps")
    expect(steps).to_contain_text(SCRIPT)
    # LaTeX that is no formula stays as it is.
    expect(steps).to_contain_text(r"\href{javascript:alert(4)}{x}")
    page.locator("dialog").get_by_role("button", name="Show its words").first.click()
    expect(page.locator("dialog .panel .text-block").first).to_contain_text(SCRIPT)
    assert page.locator("img, u, textarea, iframe, b:has(script)").count() == 0
    assert page.locator("math *").evaluate_all("all => all.every(e => !e.hasAttribute('href'))")
    own = "script:not([type='application/json']):not([type='application/gzip'])"
    assert page.locator(own).count() == 3
    assert opened.complaints == []
    assert opened.requests == [path.as_uri()]


@pytest.mark.parametrize("form", [[], ["--markdown"]])
def test_the_terminal_and_markdown_get_no_escapes(nasty, form):
    arguments = ["compare", str(nasty / "0.eval"), str(nasty / "1.eval"), *form]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.exception
    for sign in "\x1b\x07\x9b\u202e":
        assert sign not in result.output
    assert "\\x1b" in result.output.replace("\\\\", "\\")


def test_markdown_keeps_its_table_and_has_no_markup(nasty):
    arguments = ["compare", str(nasty / "0.eval"), str(nasty / "1.eval"), "--markdown"]
    output = CliRunner().invoke(cli, arguments).output
    assert "<script>" not in output.replace("\\<script\\>", "")
    assert "[x](javascript" not in output
    tables = [line for line in output.splitlines() if line.startswith("|")]
    bars = {line.replace("\\|", "").count("|") for line in tables}
    assert bars == {7, 6}


def test_json_is_json(nasty):
    arguments = ["compare", str(nasty / "0.eval"), str(nasty / "1.eval"), "--json"]
    content = json.loads(CliRunner().invoke(cli, arguments).output)
    assert SCRIPT in content["runs"]["A"]["model"]


def test_a_saved_table_holds_no_formula(nasty, tmp_path, chromium):
    path = tmp_path / "report.html"
    CliRunner().invoke(cli, ["report", str(nasty), "-o", str(path)])
    opened = Opened(chromium, path)
    # A chart that is drawn between aiming and clicking would move the place that was aimed at.
    opened.draw_all()
    page = opened.page
    figure = page.locator("figure", has_text="F1 by generator").first
    figure.locator("summary").click()
    with page.expect_download() as download:
        figure.get_by_text("Save as CSV").click()
    text = Path(download.value.path()).read_bytes().decode()
    assert ",=" not in text
    assert "'=0" in text
