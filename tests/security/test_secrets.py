"""A key that a run uses is in nothing that it leaves or prints."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import MisstepError
from tests.support.openai_server import Fault, Faults, OpenAIServer, injector, short

KEY = "sk-planted-0123456789abcdef"
BIN = Path(sys.executable).parent


@pytest.fixture
def misstep(tmp_path):
    """Return a function that runs the command with the key, which it must not print."""

    def run(*arguments):
        done = subprocess.run(
            [BIN / "misstep", *arguments],
            env={**os.environ, "LOCAL_API_KEY": KEY, "HOME": str(tmp_path / "home")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert KEY not in done.stdout + done.stderr
        return done

    return run


def holders(folder):
    """Return the files that have the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".eval"]
    return [path for path in files if any(KEY.encode() in part for part in _contents(path))]


@pytest.mark.parametrize(
    ("provider", "rate"), [("openai-api", 1.0), ("lean", 1.0), ("openai-api", 0.0)]
)
def test_a_key_is_in_no_log_and_no_message(tmp_path, misstep, rate, provider):
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
    assert holders(tmp_path) == []


def test_a_key_is_in_nothing_that_a_sweep_or_a_build_leaves(tmp_path, misstep):
    def reply(request, choice):
        return (injector if request.body["model"] == "injector" else short)(request, choice)

    # Every second call is refused, so that there are errors too.
    refusals = [Fault.CONTEXT_LENGTH if i % 2 else None for i in range(40)]
    with OpenAIServer(reply, faults=Faults(script=refusals)) as server:
        model = {"model": "openai-api/local/critic", "base_url": server.url}
        evals = [{"eval": "misstep/processbench.sample", "limit": 4}]
        sweep = {"log_dir": str(tmp_path / "sweep"), "evals": evals, "models": [model]}
        (tmp_path / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
        misstep("sweep", "run", "sweep.json", "--processes", "1")
        asked = len(server.requests)
        misstep(
            *("forge", "build", "--source", "offline", "--num-examples", "4", "-o", "built"),
            *("--model", "openai-api/local/injector", "--model-base-url", server.url),
            *("--max-attempts", "1", "--max-retries", "0"),
        )
        assert 4 <= asked < len(server.requests)
    misstep("forge", "report", "built")
    assert holders(tmp_path) == []
    assert {path.suffix for path in (tmp_path / "built").rglob("*")} >= {".eval", ".jsonl"}


@pytest.mark.parametrize(
    "options",
    [
        ["--model-base-url", f"https://user:{KEY}@host/v1"],
        ["--model-base-url", f"https://host/v1?key={KEY}"],
        ["--extra-headers", f"X-Any={KEY}"],
        ["-M", f"default_headers={{X-Any: {KEY}}}"],
        ["-M", f"token={KEY}"],
        ["--env", f"ANY={KEY}"],
    ],
)
def test_a_command_with_a_key_is_refused_before_a_file_is_written(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    command = ["run", "misstep/processbench.sample", "--model", "openai-api/local/critic"]
    with pytest.raises(MisstepError) as caught:
        CliRunner().invoke(cli, [*command, *options], catch_exceptions=False)
    assert KEY not in str(caught.value)
    assert "environment" in str(caught.value)
    assert list(tmp_path.rglob("*")) == []


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
