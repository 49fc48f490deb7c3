"""A key that a run uses is in nothing that it leaves or prints."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.openai_server import Fault, Faults, OpenAIServer, short

KEY = "sk-planted-0123456789abcdef"
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("rate", [0.0, 1.0], ids=["answered", "refused"])
@pytest.mark.parametrize("provider", ["openai-api", "lean"])
def test_a_key_is_in_no_log_and_no_message(tmp_path, rate, provider):
    def misstep(*arguments):
        done = subprocess.run(
            [BIN / "misstep", *arguments],
            env={**os.environ, "LOCAL_API_KEY": KEY, "HOME": str(tmp_path / "home")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert KEY not in done.stdout + done.stderr

    with OpenAIServer(short, faults=Faults({Fault.CONTEXT_LENGTH: rate})) as server:
        misstep(
            *("run", "misstep/processbench.sample", "--processes", "1", "--limit", "3"),
            *("--model", f"{provider}/local/critic", "--model-base-url", server.url),
            *("--log-dir", tmp_path / "logs"),
        )
        assert len(server.requests) >= 3
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    misstep("report", tmp_path / "logs", "-o", tmp_path / "report.html")
    assert (tmp_path / "report.html").is_file()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".eval"]
    holders = [path for path in files if any(KEY.encode() in part for part in _contents(path))]
    assert holders == []


def _contents(path):
    yield path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                try:
                    yield archive.read(name)
                except NotImplementedError:
                    yield _by_inspect(path)
                    return


def _by_inspect(path):
    """Inspect packs its logs in a way that Python 3.11's zipfile does not unpack."""
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(path)).model_dump_json().encode()
