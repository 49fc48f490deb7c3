"""Downloading from GitHub: a real HTTP server on this machine in its place."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.loaders import _sources, fetch, load_rows
from misstep.registry import DataError, find_source, sources
from tests.support.rows import delta_row

ADDRESS = (
    "/OpenStellarTeam/DeltaBench/6b67c64ad177553ec73f85ff98b18b0e6627341f/data/Deltabench_v1.jsonl"
)


def published_rows():
    """As many rows as were published, of the subsets that were published."""
    subsets = find_source("deltabench").files[0].subsets
    kinds = [name for name, count in subsets.items() for _ in range(count)]
    rows = [delta_row(f"d-{i}", errors=[1], task_l1=kind) for i, kind in enumerate(kinds)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class GitHub(BaseHTTPRequestHandler):
    content = b""
    cut: int | None = None
    ranges: list[str | None]

    def do_GET(self):
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        body = self.content[start:]
        if self.path != ADDRESS:
            self.send_error(404)
            return
        if asked and not body:
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.cut is None else body[: self.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def github(monkeypatch, tmp_path):
    GitHub.content, GitHub.cut, GitHub.ranges = published_rows(), None, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(_sources, "GITHUB", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield tmp_path / "deltabench" / "Deltabench_v1.jsonl"
    server.shutdown()
    server.server_close()


def test_fetch_saves_the_pinned_file_once(github):
    result = CliRunner().invoke(cli, ["data", "fetch", "deltabench"])
    assert result.exit_code == 0, result.output
    assert f"{github}  checked" in result.output
    assert github.read_bytes() == GitHub.content
    assert [row.subset for row in load_rows("deltabench", "general")] == ["general"] * 147
    assert GitHub.ranges == [None]


def test_a_download_that_breaks_off_is_taken_up_where_it_stopped(github):
    GitHub.cut = 1000
    with pytest.raises(DataError, match=r"GitHub, OpenStellarTeam/DeltaBench at 6b67c64a.*:"):
        list(fetch("deltabench"))
    assert not github.exists()
    assert github.with_name("Deltabench_v1.jsonl.part").stat().st_size == 1000
    GitHub.cut = None
    assert list(fetch("deltabench")) == [github]
    assert GitHub.ranges == [None, "bytes=1000-"]
    assert github.read_bytes() == GitHub.content
    assert [path.name for path in github.parent.iterdir()] == [github.name]


def test_a_part_that_is_already_whole_is_fetched_anew(github):
    github.parent.mkdir()
    github.with_name("Deltabench_v1.jsonl.part").write_bytes(GitHub.content)
    assert list(fetch("deltabench")) == [github]
    assert GitHub.ranges == [f"bytes={len(GitHub.content)}-", None]


def test_another_number_of_rows_is_not_saved(github):
    GitHub.content = GitHub.content.split(b"\n")[0]
    with pytest.raises(DataError, match="expected 1,236 rows\n  found    1 rows"):
        list(fetch("deltabench"))
    assert list(github.parent.iterdir()) == []


def test_the_right_number_of_rows_of_other_kinds_is_told(github):
    GitHub.content = GitHub.content.replace(b'"general"', b'"math"')
    with pytest.raises(DataError, match="'math': 709"):
        load_rows("deltabench")


def test_offline_and_without_a_copy_every_place_is_named(github, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError) as caught:
        load_rows("deltabench")
    assert str(github) in str(caught.value)
    assert "HF_HUB_OFFLINE is set" in str(caught.value)
    assert "misstep data fetch deltabench" in str(caught.value)
    assert GitHub.ranges == []


def test_a_file_that_is_not_there_is_one_message(github, monkeypatch):
    monkeypatch.setattr(_sources, "GITHUB", f"{_sources.GITHUB}/elsewhere")
    with pytest.raises(DataError, match="404"):
        list(fetch("deltabench"))


def test_the_source_is_pinned_by_commit_and_rows():
    source = sources()["deltabench"]
    assert (source.home, len(source.revision)) == ("github", 40)
    [file] = source.files
    assert (file.rows, sum(file.subsets.values()), file.sha256) == (1236, 1236, None)
