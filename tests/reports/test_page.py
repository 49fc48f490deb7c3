"""The page in a real browser."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from misstep.cli._main import cli
from misstep.registry import MisstepError
from tests.reports.conftest import ROWS


@pytest.fixture(scope="module")
def page_file(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result = CliRunner().invoke(cli, ["report", str(folder), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "4 runs, 10 logs skipped" in result.output
    return path


class Opened:
    """A page, and whatever the browser has to complain of."""

    def __init__(self, browser, path, **options):
        self.complaints = []
        self.requests = []
        self.page = browser.new_context(**options).new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(path.as_uri())

    def draw_all(self):
        """Until then the page grows, and a click may land beside its mark."""
        for chart in self.page.locator(".chart").all():
            chart.scroll_into_view_if_needed()
            chart.locator("svg").first.wait_for()
        self.page.wait_for_function(
            "document.querySelectorAll('.chart:not([data-drawn])').length === 0"
        )


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_every_chart_is_drawn_in_both_themes_and_on_a_phone(chromium, page_file, scheme, width):
    opened = Opened(
        chromium, page_file, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    opened.draw_all()
    page = opened.page
    assert page.locator(".chart").count() >= 9
    marks = page.evaluate(
        "Array.from(document.querySelectorAll('.chart'), "
        "chart => chart.querySelectorAll('svg path').length)"
    )
    assert min(marks) > 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert opened.complaints == []
    # Nothing is loaded but the page itself.
    assert opened.requests == [page_file.as_uri()]


def test_the_theme_can_be_chosen(chromium, page_file):
    opened = Opened(chromium, page_file, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = opened.page.evaluate(background)
    opened.page.select_option("#theme", "dark")
    assert opened.page.evaluate(background) != light
    assert opened.complaints == []


def test_tables_sort_by_what_they_mean(chromium, page_file):
    page = Opened(chromium, page_file).page
    table = page.locator("#leaderboard-1")
    column = [text.split("\n")[0].strip() for text in table.locator("thead th").all_inner_texts()]
    place = column.index("Error accuracy")
    button = table.locator("thead button").nth(place)

    def values():
        cells = table.locator(f"tbody tr > :nth-child({place + 1})").all()
        return [float(cell.get_attribute("data-value")) for cell in cells]

    button.click()
    assert values() == sorted(values(), reverse=True)
    button.click()
    assert values() == sorted(values())
    assert table.locator("thead th").nth(place).get_attribute("aria-sort") == "ascending"
    table.locator("thead button").first.click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names, key=str.lower)


def test_every_chart_is_also_a_table(chromium, page_file):
    opened = Opened(chromium, page_file)
    opened.draw_all()
    page = opened.page
    details = page.locator("details.data").first
    details.locator("summary").click()
    expect(details.locator("tbody tr")).to_have_count(4)
    with page.expect_download() as download:
        details.get_by_text("Save as CSV").click()
    text = Path(download.value.path()).read_bytes().decode()
    assert text.split("\r\n")[0].startswith("run,protocol,published,source,samples,f1_score")
    assert len(text.split("\r\n")) == 5


def test_samples_are_looked_through_and_linked_to_the_viewer(chromium, page_file):
    opened = Opened(chromium, page_file)
    opened.draw_all()
    page = opened.page
    details = page.locator("details.samples").first
    details.locator("> summary").click()
    assert f"1 to 50 of {len(ROWS)}" in details.locator(".tools").inner_text()
    details.get_by_text("Next").click()
    expect(details.locator("tbody tr")).to_have_count(len(ROWS) - 50)
    details.locator("input").fill(ROWS[0].id)
    row = details.locator("tbody tr").first
    assert row.locator("th").inner_text() == ROWS[0].id
    links = [link.get_attribute("href") for link in row.locator("a").all()]
    assert len(links) == 4
    wanted = rf"http://127.0.0.1:7575/#/logs/[\w%./]+\.eval/samples/sample/{ROWS[0].id}/1/"
    assert all(re.fullmatch(wanted, link) for link in links)
    assert any("/logs/sub/failed.eval/" in link for link in links)


def test_skipped_logs_are_on_the_page(chromium, page_file):
    page = Opened(chromium, page_file).page
    text = page.locator("#skipped").inner_text()
    for reason in ("cancelled", "foreign", "unfinished", "cannot be read as an Inspect log"):
        assert reason in text


def test_the_policy_allows_nothing_but_the_pages_own_scripts(page_file):
    text = page_file.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src &#39;none&#39;")
    assert "unsafe-eval" not in policy
    assert "script-src &#39;sha256-" in policy
    assert "<script src=" not in text
    assert "<link" not in text


def test_a_printed_page_has_its_charts(chromium, page_file):
    opened = Opened(chromium, page_file)
    opened.page.emulate_media(media="print")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.wait_for_function(
        "document.querySelectorAll('.chart:not([data-drawn])').length === 0"
    )
    assert opened.page.locator("nav").is_hidden()
    assert opened.complaints == []


def test_a_folder_without_a_log_is_one_message(tmp_path):
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "-o", str(tmp_path / "r.html")])
    assert isinstance(result.exception, MisstepError)
    assert "there is no log that can be counted" in str(result.exception)
    assert not (tmp_path / "r.html").exists()
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "--viewer", "javascript:alert(1)"])
    assert "this is not an http:// or https:// address" in str(result.exception)


def test_the_data_in_the_page_is_json(page_file):
    text = page_file.read_text(encoding="utf-8")
    blocks = re.findall(r'<script type="application/json" id="[^"]+">(.*?)</script>', text, re.S)
    assert len(blocks) >= 10
    for block in blocks:
        json.loads(block)
