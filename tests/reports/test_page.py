"""The page in a real browser."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from misstep.cli._main import cli
from misstep.registry import MisstepError
from tests.reports.conftest import ROWS

LAYOUT = (Path(__file__).parents[1] / "support" / "layout.js").read_text(encoding="utf-8")
"""Finds texts that are cut or lie over each other."""


@pytest.fixture(scope="module")
def page_file(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result = CliRunner().invoke(cli, ["report", str(folder), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "4 runs, 10 logs skipped" in result.output
    return path


class Opened:
    """A page, and whatever the browser has to complain of."""

    def __init__(self, browser, path, link="", **options):
        self.complaints = []
        self.requests = []
        self.page = browser.new_context(**options).new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(f"{path.as_uri()}{link}")
        self.page.wait_for_selector("html[data-ready]")

    def draw_all(self):
        """Until then the page grows, and a click may land beside its mark."""
        self.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(self.page.locator(".chart:not([data-drawn])")).to_have_count(0)

    def resize(self, width):
        """Change the width and wait until the charts have theirs."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.chart')].every(chart => "
            "chart.dataset.drawn && +chart.dataset.width === chart.clientWidth)"
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_text_is_cut_or_covered_at_any_width(chromium, page_file, scheme):
    opened = Opened(
        chromium, page_file, color_scheme=scheme, viewport={"width": 1280, "height": 900}
    )
    opened.draw_all()
    page = opened.page
    assert page.locator(".chart").count() >= 9
    marks = page.evaluate(
        "Array.from(document.querySelectorAll('.chart'), "
        "chart => chart.querySelectorAll('svg path').length)"
    )
    assert min(marks) > 3
    for width in (1280, 360, 1600):
        opened.resize(width)
        assert page.evaluate(LAYOUT) == [], width
        page.locator(".list button").first.click()
        page.wait_for_selector("dialog[open] .steps")
        assert page.evaluate(LAYOUT) == [], f"a sample at {width}"
        page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert opened.complaints == []
    # Nothing is loaded but the page itself.
    assert opened.requests == [page_file.as_uri()]


def test_the_check_of_the_layout_sees_what_is_cut_and_covered(chromium, page_file):
    page = Opened(chromium, page_file).page
    page.evaluate(
        "document.querySelector('h1').style.cssText = 'width: 20px; overflow: hidden;"
        " white-space: nowrap'; document.querySelector('header .muted').style.marginTop = '-30px'"
    )
    found = " ".join(page.evaluate(LAYOUT))
    assert "is cut by H1" in found
    assert "lies over" in found


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe-core is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_no_serious_finding(chromium, page_file, scheme):
    from axe_playwright_python.sync_playwright import Axe

    opened = Opened(chromium, page_file, color_scheme=scheme, bypass_csp=True)
    opened.draw_all()
    for state in ("page", "sample"):
        if state == "sample":
            opened.page.locator(".list button").first.click()
            opened.page.wait_for_selector("dialog[open] .steps")
        found = Axe().run(opened.page).response["violations"]
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], state


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
    names = [one.get_attribute("data-value") for one in table.locator("tbody th").all()]
    assert names == sorted(names, key=str.lower)


def test_every_chart_is_also_a_table_and_a_picture(chromium, page_file):
    opened = Opened(chromium, page_file)
    opened.draw_all()
    page = opened.page
    figure = page.locator("figure").first
    figure.locator("summary").click()
    expect(figure.locator("tbody tr")).to_have_count(4)
    saved = {}
    for name in ("Save as CSV", "SVG", "PNG"):
        with page.expect_download() as download:
            figure.get_by_text(name, exact=True).click()
        saved[name] = Path(download.value.path()).read_bytes()
    lines = saved["Save as CSV"].decode().split("\r\n")
    assert lines[0].startswith(
        "run,name,protocol,settings,published,source,samples,rank,tied,apart,f1_score"
    )
    assert len(lines) == 5
    assert saved["SVG"].startswith(b"<svg")
    assert b"openai/strong" in saved["SVG"]
    assert saved["PNG"].startswith(b"\x89PNG")
    assert opened.complaints == []


def test_a_sample_opens_with_its_steps_and_what_each_run_said(chromium, page_file, runs):
    opened = Opened(chromium, page_file)
    page = opened.page
    lens = page.locator(".microscope").first
    expect(lens.locator(".list li")).to_have_count(25)
    row = ROWS[5]
    lens.get_by_role("searchbox").fill(row.id)
    lens.locator(".list button").first.click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator("h2")).to_have_text(row.id)
    steps = dialog.locator(".steps .row:not(.head)")
    expect(steps).to_have_count(len(row.steps) + 1)
    if row.label >= 0:
        expect(steps.nth(row.label)).to_have_class(re.compile("wrong"))
    # Two runs side by side: votes as bars, rewards, and the words of the critic on demand.
    index = [run.name for run in (runs.strong, runs.weak, runs.voted)]
    menus = dialog.locator(".pick select")
    menus.nth(0).select_option(label=index[2])
    menus.nth(1).select_option(label=index[0])
    expect(dialog.locator(".panel h3")).to_have_text([index[2], index[0]])
    sample = next(one for one in runs.voted.samples if one.id == row.id)
    score = sample.scores["first_error"]
    expect(dialog.locator(".reward")).to_have_count(len(row.steps))
    shares = {str(step): count for step, count in score.votes.items()}
    bars = dialog.locator(".vote").all_inner_texts()
    assert sorted(bars) == sorted(
        f"{count:g} of {sum(shares.values()):g}"
        for step, count in shares.items()
        if step.lstrip("-").isdigit() and -1 <= int(step) < len(row.steps)
    )
    assert "text-block" not in dialog.locator(".panel").nth(1).inner_html()
    dialog.get_by_role("button", name="Show its words").nth(1).click()
    expect(dialog.locator(".panel .text-block").first).to_contain_text(re.compile("error|cannot"))
    # A link opens at the same sample.
    link = page.evaluate("location.hash")
    assert row.id in link
    again = Opened(chromium, page_file, link)
    expect(again.page.locator("dialog[open] h2")).to_have_text(row.id)
    expect(again.page.locator("dialog .panel h3")).to_have_text([index[2], index[0]])
    assert opened.complaints == again.complaints == []


def test_the_keyboard_goes_from_sample_to_sample(chromium, page_file):
    page = Opened(chromium, page_file).page
    ids = page.locator(".list b").all_inner_texts()
    page.locator(".list button").first.click()
    title = page.locator("dialog h2")
    expect(title).to_have_text(ids[0])
    for key, place in (("ArrowRight", 1), ("j", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        expect(title).to_have_text(ids[place])
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    # The browser tells the page of the closed dialog a moment later.
    expect(page).to_have_url(re.compile("^[^#]*$"))


def test_filters_in_words_find_what_they_say(chromium, page_file, runs, folder):
    page = Opened(chromium, page_file).page
    lens = page.locator(".microscope").first
    names = lens.locator(".pick select").first.locator("option").all_inner_texts()
    lens.locator(".pick select").nth(0).select_option(label="openai/strong")
    lens.locator(".pick select").nth(1).select_option(label="openai/weak")
    by_name = {run.name: run for run in (runs.strong, runs.weak, runs.voted)}
    assert set(by_name) < set(names)

    def findings(run):
        return {s.id: s.finding(score) for s, score in run.scored_pairs()}

    strong, weak, voted = (
        findings(by_name[f"openai/{n}"]) for n in ("strong", "weak", "gpt-4o-mini")
    )
    failed = dict(weak)
    del failed[ROWS[0].id]
    every = [strong, weak, voted, failed]
    good = ("exact", "right")
    wanted = {
        "A right, B early": {i for i in strong if strong[i] in good and weak[i] == "early"},
        "all wrong": {i for i in strong if all(one.get(i, "right") not in good for one in every)}
        - {ROWS[0].id},
        "unread": {i for i in strong if any(one.get(i) == "unread" for one in every)},
        "error": {ROWS[0].id},
        f"B missed, {ROWS[0].subset}": {
            row.id for row in ROWS if weak[row.id] == "missed" and row.subset == ROWS[0].subset
        },
    }
    for words, ids in wanted.items():
        lens.get_by_role("searchbox").fill(words)
        expect(lens.locator(".meaning")).to_have_text(re.compile(rf"^{len(ids)} samples"))
        shown = set(lens.locator(".list b").all_inner_texts())
        assert shown <= ids, words
        assert len(shown) == min(25, len(ids)), words


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
    opened.draw_all()
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
