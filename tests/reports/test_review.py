"""The review of labels: its page in a browser, a crash, two annotators, agreement and export."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from sklearn.metrics import cohen_kappa_score

from misstep.cli._main import cli
from misstep.forge import sample_examples
from misstep.loaders import load_rows
from misstep.registry import MisstepError
from misstep.reports import (
    ADJUDICATOR,
    Decision,
    DecisionFile,
    ReviewServer,
    agreements,
    cohen_kappa,
    review_items,
)
from tests.support.logs import write_first_error_log

MISSTEP = str(Path(sys.executable).parent / "misstep")
HARM = " <script>document.title='owned'</script> and $\\frac{1}{2}$"


@pytest.fixture
def rows(tmp_path):
    """A file of 21 rows, the first with a script in a step and doubtful votes."""
    found = [one.row() for one in sample_examples(wrong=16, untouched=5)]
    found[0]["steps"][2] += HARM
    found[0]["review_votes"] = [3, 3, found[0]["label"]]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return path


def serve(rows, decisions, *options):
    """Start the command, and return its process and the address of its page."""
    command = [MISSTEP, "review", str(rows), "--decisions", str(decisions), "--no-open", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, next(line for line in process.stdout if line.startswith("http")).strip()


def open_page(chromium, address, annotator, **options):
    page = chromium.new_page(**options)
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{address}?annotator={annotator}")
    page.locator("#item:not([hidden])").wait_for()
    return page


def press(page, done, *keys):
    for key in keys:
        page.keyboard.press(key)
    page.locator("#progress", has_text=re.compile(rf"^{done} of ")).wait_for()


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_two_people_review_twenty_items_by_keyboard_with_a_crash_between(rows, tmp_path, chromium):
    decisions = tmp_path / "decisions.jsonl"
    process, address = serve(rows, decisions)
    try:
        page = open_page(chromium, address, "ann")
        assert page.title() == "misstep review"
        assert page.locator("#solution script").count() == 0
        assert "<script>document.title='owned'</script>" in page.inner_text("#solution")
        assert page.locator("#solution math mfrac").count() == 1
        assert "review vote 1: step 3" in page.inner_text("#about")
        keys = [("a",), ("a",), ("e",), ("j", "Enter"), ("x",)]
        page.evaluate(
            "document.addEventListener('keyup', () => { window.ups = (window.ups || 0) + 1; })"
        )
        for done in range(1, 10):
            press(page, done, *keys[done % 5])
            assert len(lines(decisions)) == done
        # Killed as soon as the key is released: the decision is on disk.
        released = page.evaluate("window.ups")
        page.keyboard.down("a")
        page.keyboard.up("a")
        os.kill(process.pid, signal.SIGKILL)
        assert page.evaluate("window.ups") == released + 1
        process.wait()
        assert len(lines(decisions)) == 10
        page.keyboard.press("a")
        page.locator("#message", has_text="Not saved").wait_for()
        with decisions.open("a", encoding="utf-8") as stream:
            stream.write('{"item": "half a li')
        process, address = serve(rows, decisions)
        page = open_page(chromium, address, "ann")
        assert page.inner_text("#progress") == "10 of 21 decided"
        for done in range(11, 20):
            press(page, done, *keys[done % 5])
        for key in ("n", *"why", "Escape"):
            page.keyboard.press(key)
        press(page, 20, "a")
        second = open_page(
            chromium, address, "bob", color_scheme="dark", viewport={"width": 360, "height": 700}
        )
        assert second.evaluate("document.documentElement.scrollWidth") == 360
        for done in range(1, 21):
            press(second, done, *(("e",) if done % 7 == 0 else ("a",)))
        assert page.complaints + second.complaints == []
    finally:
        process.kill()
        process.wait()
    kept = DecisionFile(decisions)
    assert len(kept.decisions) == 40
    assert kept.unread == 1
    assert "why" in {one.note for one in kept.decisions.values()}
    rated = [found for found in kept.by_item().values() if len(found) == 2]
    pairs = [(one["ann"].rating, one["bob"].rating) for one in rated]
    [kappa, alpha] = agreements(kept)
    assert kappa.items == len(pairs) == 20
    assert kappa.estimate.value == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))
    assert kappa.estimate.lower <= kappa.estimate.value <= kappa.estimate.upper
    assert alpha.estimate.value == pytest.approx(kappa.estimate.value, abs=0.05)


def test_cohens_kappa_is_that_of_scikit_learn():
    pairs = [("1", "1"), ("1", "2"), ("-1", "-1"), ("3", "rejected"), ("-1", "1"), ("2", "2")]
    assert cohen_kappa(pairs) == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))


def decide(file, item, annotator, label, decision="correct", **more):
    given = {"item": item, "annotator": annotator, "label": label, "decision": decision}
    file.add(Decision.model_validate({**given, **more}))


def test_export_has_final_labels_and_who_decided(rows, tmp_path):
    file = DecisionFile(tmp_path / "d.jsonl")
    items = review_items([str(rows)])
    both, split, judged, gone, one = [item.id for item in items[:5]]
    for annotator in ("ann", "bob"):
        decide(file, both, annotator, 4)
        decide(file, gone, annotator, 0, "reject")
    for item in (split, judged):
        decide(file, item, "ann", 2)
        decide(file, item, "bob", 3)
    decide(file, judged, ADJUDICATOR, 3)
    decide(file, one, "ann", -1)
    arguments = ["review", str(rows), "--decisions", str(tmp_path / "d.jsonl")]
    done = CliRunner().invoke(cli, [*arguments, "--export", str(tmp_path / "out.jsonl")])
    assert done.exit_code == 0, done.output
    assert "disagreements: 2" in done.output
    found = {row.id: row for row in load_rows(str(tmp_path / "out.jsonl"))}
    assert {name: row.label for name, row in found.items()} == {both: 4, judged: 3, one: -1}
    about = found[judged].extra["review"]
    assert about["adjudicated"]
    assert about["annotators"] == ["ann", "bob"]
    assert about["original_label"] == next(item.label for item in items if item.id == judged)


def test_rows_on_which_critics_agree_against_the_label_come_first(rows, tmp_path):
    own = rows
    rows = load_rows("sample")[:12]
    logs = []
    for number in range(3):
        replies = [f"\\boxed{{{row.label}}}" for row in rows]
        replies[7] = "\\boxed{0}" if rows[7].label != 0 else "\\boxed{1}"
        if number == 0:
            replies[3] = "\\boxed{-1}" if rows[3].label != -1 else "\\boxed{0}"
        logs.append(str(tmp_path / f"{number}.eval"))
        write_first_error_log(tmp_path / f"{number}.eval", rows, replies, model=f"openai/{number}")
    items = review_items(logs)
    assert [item.id for item in items[:2]] == [rows[7].id, rows[3].id]
    assert items[0].against == 3
    assert len(items[0].critics) == 3
    assert len(items) == 12
    with pytest.raises(MisstepError, match="judges none of these rows"):
        review_items([str(own), logs[0]])


def test_the_server_answers_only_its_own_page(rows, tmp_path):
    server = ReviewServer(review_items([str(rows)]), DecisionFile(tmp_path / "d.jsonl"), blind=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    item = server.items[0]

    def get(path="", **headers):
        return httpx.get(server.address + path, headers=headers)

    def post(content):
        return httpx.post(server.address + "decision", json=content).status_code

    try:
        policy = get().headers["Content-Security-Policy"]
        assert "script-src 'sha256-" in policy
        assert "unsafe" not in policy
        assert get(Host="evil.example").status_code == 403
        assert get(Origin="http://evil.example").status_code == 403
        assert httpx.get(server.address.replace(server.token, "guess")).status_code == 404
        shown = get(f"item/{item.id}").json()
        assert set(shown) == {"id", "problem", "steps"}  # blind: no label, no original, no hint
        good = {"item": item.id, "annotator": "a", "decision": "accept", "label": item.label}
        assert post(good) == 200
        for bad in ({"label": 99}, {"item": "no"}, {"annotator": "\x00"}, {"error_type": "typo"}):
            assert post({**good, **bad}) == 400
        assert post({**good, "note": "x" * 70_000}) == 413
        assert httpx.post(server.address + "decision", content=b"{}").status_code == 415
        [kept] = lines(tmp_path / "d.jsonl")
        assert kept["blind"]
    finally:
        server.shutdown()
        server.server_close()


def test_sources_that_cannot_be_reviewed_are_named(rows, tmp_path):
    with pytest.raises(MisstepError, match="one folder or file at a time"):
        review_items([str(rows), str(rows) + "2"])
    empty = CliRunner().invoke(cli, ["review", str(tmp_path / "no.jsonl"), "--agreement"])
    assert empty.exit_code == 1
