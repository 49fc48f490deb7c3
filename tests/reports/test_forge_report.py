"""The report: looked at in a real browser, with texts that would do harm if they could."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.evals.adversarial_numinamath import adversarial_numinamath
from misstep.forge import Example, sample_examples
from misstep.forge._files import data_files
from misstep.loaders import json_lines
from misstep.reports._forge_report import StepPair, marked_changes
from misstep.reports._text import formula_html, text_html
from tests.forge.good import GOOD
from tests.support.runs import succeed

HARM = {
    **GOOD,
    "id": "<script>document.title='owned'</script>",
    "problem": "<img src=x onerror=\"document.title='owned'\"> "
    "\\(\\href{javascript:alert(1)}{x}\\) "
    "$\\text{<script>document.title='owned'</script>}$ | `code` **bold**",
    "error_type": '"><script>document.title="owned"</script>',
    "what_changed": "</dd></article><script>document.title='owned'</script>",
}


def judged(folder):
    return succeed(adversarial_numinamath(critic="uniform"), folder, "mockllm/critic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    examples = [*map(Example.model_validate, (GOOD, HARM)), *sample_examples(wrong=8, untouched=2)]
    for path, content in data_files(folder, examples).items():
        path.write_bytes(content)
    rejects = [
        {"id": str(i), "rejects": [{"stage": "reply", "reason": "<i>not_json", "detail": "x"}]}
        for i in range(3)
    ]
    (folder / "rejects.jsonl").write_text(json_lines(rejects), encoding="utf-8")
    # In a thread: a browser that is open in this one has an event loop running there.
    with ThreadPoolExecutor(1) as aside:
        log = aside.submit(judged, folder / "critics").result()
    done = CliRunner().invoke(cli, ["forge", "report", str(folder), "--log", log.location])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def opened(folder, chromium):
    page = chromium.new_page()
    page.complaints, page.asked = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"file://{folder / 'report.html'}")
    yield page
    page.close()


def test_the_page_asks_for_nothing_and_runs_nothing_of_others(opened, folder):
    assert opened.asked == [f"file://{folder / 'report.html'}"]
    assert opened.complaints == []
    assert opened.title().endswith("injected errors")
    assert (
        opened.evaluate("document.querySelectorAll('article img, article script, a').length") == 0
    )
    assert opened.evaluate("document.querySelectorAll('[href], [onerror]').length") == 0
    assert HARM["id"] in opened.locator("article").nth(0).text_content() + opened.content() or (
        "&lt;script&gt;" in opened.content()
    )


def test_changed_text_is_marked_and_formulas_are_drawn(opened):
    opened.evaluate("location.hash")
    number = next(
        i
        for i in range(12)
        if "triangle: step 6" in opened.locator("article h3").nth(i).text_content()
    )
    for _ in range(number):
        opened.click("#after")
    article = opened.locator("article.shown")
    assert article.count() == 1
    error = article.locator("tr.error")
    assert error.locator("del").all_text_contents()[0] == "law"
    assert "Pythagorean" in " ".join(error.locator("ins").all_text_contents())
    assert article.locator("tr.same del, tr.same ins").count() == 0
    fraction = error.locator("mfrac")
    assert fraction.bounding_box()["height"] > 10
    box = article.locator("mrow.boxed").first
    assert box.evaluate("e => getComputedStyle(e).borderTopWidth") == "1px"


def test_examples_are_browsed_by_type(opened):
    assert opened.locator("#place").text_content() == "1 of 12"
    opened.select_option("#kind", "untouched")
    assert opened.locator("#place").text_content() == "1 of 2"
    opened.click("#before")
    assert opened.locator("#place").text_content() == "2 of 2"
    opened.keyboard.press("Escape")
    assert opened.locator("article.shown").count() == 1


def test_charts_and_tables_tell_what_was_found(opened):
    assert opened.locator("figure svg").count() == 4
    text = opened.locator("body").text_content()
    assert "12 examples: 10 with an error, 2 untouched; 3 solutions were rejected." in text
    assert "reply: <i>not_json" in text
    assert "uniform" in text
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_markdown_tells_the_same(folder):
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| theorem\\_misapplication | 2 |" in text
    assert "| reply: \\<i\\>not\\_json | 3 |" in text
    assert "- 7. By the law of cosines" in text
    assert "+ 7. By the Pythagorean theorem" in text
    assert "| uniform | all | 48 |" in text


def test_marks_are_word_by_word_and_escaped():
    left, right = marked_changes(StepPair(0, "a <b> $x$", "a <c> $y$"))
    assert left.startswith("a &lt;<del>b</del>&gt; <del><math")
    assert right.startswith("a &lt;<ins>c</ins>&gt; <ins><math")
    assert marked_changes(StepPair(0, None, "new"))[0] == ""


@pytest.mark.parametrize(
    "source",
    ["$\\style{color:red}{x}$", "\\(\\href{javascript:x}{y}\\)", "$\\text{<b>x</b>}$", "$\\frac{$"],
)
def test_formulas_hold_no_markup_of_their_own(source):
    html = formula_html(source)
    assert "href" not in html.replace("\\href", "")
    assert "style" not in html.replace("\\style", "")
    assert "<b>" not in html


def test_formulas_that_cannot_be_drawn_are_shown_as_written():
    assert formula_html("$" + "x" * 5000 + "$").startswith("<code>$xx")
    assert "mtable" in text_html("\\[\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\\]")


def test_a_folder_without_a_set_and_a_log_of_something_else_are_one_message(tmp_path, folder):
    run = CliRunner().invoke
    assert "no built set" in str(run(cli, ["forge", "report", str(tmp_path)]).exception)
    broken = tmp_path / "x.eval"
    broken.write_text("no", encoding="utf-8")
    done = run(cli, ["forge", "report", str(folder), "--log", str(broken)])
    assert "cannot be read as an Inspect log" in str(done.exception)
    (tmp_path / "adversarial.jsonl").write_text(json.dumps({"id": "x"}), encoding="utf-8")
    assert "misstep forge check" in str(run(cli, ["forge", "report", str(tmp_path)]).exception)
