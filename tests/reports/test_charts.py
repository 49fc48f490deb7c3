import json

import pytest

from misstep.registry import MisstepError
from misstep.reports import chart_library, save_chart


@pytest.fixture
def chart():
    altair = chart_library()
    data = altair.Data(values=[{"x": 1, "y": 2}, {"x": 2, "y": 1}])
    return altair.Chart(data).mark_line().encode(x="x:Q", y="y:Q")


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")]
)
def test_a_chart_is_saved_by_its_ending(chart, tmp_path, name, start):
    save_chart(chart, tmp_path / name)
    assert (tmp_path / name).read_bytes().lstrip().startswith(start)


def test_a_page_loads_nothing_from_elsewhere(chart, tmp_path):
    save_chart(chart, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<script src=" not in page
    assert "<link" not in page


def test_a_description_holds_the_data(chart, tmp_path):
    save_chart(chart, tmp_path / "a.json")
    assert {"x": 1, "y": 2} in json.loads((tmp_path / "a.json").read_text())["data"]["values"]


def test_another_ending_is_refused_with_those_allowed(chart, tmp_path):
    with pytest.raises(MisstepError, match=r"'a.bmp' .* \.svg, \.png"):
        save_chart(chart, tmp_path / "a.bmp")
    assert not (tmp_path / "a.bmp").exists()


def test_a_page_draws_its_chart_in_a_browser(chart, tmp_path, chromium):
    save_chart(chart, tmp_path / "a.html")
    page = chromium.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "a.html").as_uri())
    page.wait_for_selector("canvas, svg")
    assert complaints == []
