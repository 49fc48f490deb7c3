"""Fetching from a hub: a real HTTP server on this machine in the hub's place."""

import os
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.commands import Command, run_in_one_process

COMMIT = "0" * 40


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as one file needs."""

    protocol_version = "HTTP/1.1"
    files: dict[str, bytes]
    asked: list[str]

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        self.asked.append(f"{self.command} {self.path}")
        name = self.path.rpartition("/")[2]
        content = self.files.get(name)
        self.send_response(404 if content is None else 200)
        content = content or b""
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub(real_data):
    folder = real_data / "processbench"
    Hub.files = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetch(hub, folder, *mirrors):
    """Fetch into mirrors, one after the other."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("HF_")},
        "HF_ENDPOINT": hub,
        "HF_HOME": str(folder / "cache"),
        "HF_HUB_DISABLE_XET": "1",
    }
    words = ["misstep", "data", "fetch", "processbench"]
    given = [Command(words, folder, {"MISSTEP_DATA": str(folder / one)}) for one in mirrors]
    return run_in_one_process(given, environment)


def test_fetch_saves_what_it_got_and_goes_on_where_it_stopped(hub, tmp_path):
    (tmp_path / "file").touch()
    *ends, unwritable = fetch(hub, tmp_path, "mirror", "mirror", "file")
    mirror = tmp_path / "mirror" / "processbench"
    # The machine holds two of the four files, so the third stops the run.
    for end in ends:
        assert end.status == 1
        assert "'olympiadbench.json' of the source 'processbench' was not found" in end.output
    assert sorted(path.name for path in mirror.iterdir()) == ["gsm8k.json", "math.json"]
    assert (mirror / "math.json").read_bytes() == Hub.files["math.json"]
    sent = [path for path in Hub.asked if path.startswith("GET")]
    assert [sum(name in path for path in sent) for name in ("gsm8k", "math.json")] == [1, 1]
    # A folder that cannot be written is a clear error.
    assert unwritable.status == 1
    assert "cannot be written" in unwritable.output
    assert not any("Traceback" in end.output for end in (*ends, unwritable))


def test_a_file_that_is_not_the_pinned_one_is_not_saved(hub, tmp_path):
    Hub.files["gsm8k.json"] = Hub.files["gsm8k.json"][:-10]
    [end] = fetch(hub, tmp_path, "mirror")
    assert end.status == 1
    assert "expected sha256 fb1c59df" in end.output
    assert not (tmp_path / "mirror").exists()
