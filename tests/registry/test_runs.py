"""The run configurations, run with Inspect's own `--run-config` against a real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from misstep.registry._user_input import read_yaml
from tests.support.openai_server import OpenAIServer

RUNS = Path(__file__).parents[2] / "registry" / "runs"
RUN = "processbench-paper-maj8.yaml"
MODEL = ["--model", "openai-api/local/critic"]
OPTIONS = ["-T", "source=sample", "--limit", "1", *MODEL, "--display", "plain"]
INSPECT = str(Path(sys.executable).parent / "inspect")


@pytest.mark.parametrize("file", sorted(RUNS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_value_has_its_origin_in_a_comment(file):
    settings = read_yaml(file)
    assert set(settings) == {"task", "generate_config"}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  ") and line.strip() not in ("task: misstep/processbench", "args:"):
            assert "  # " in line, line


def test_a_paper_run_sends_the_papers_settings(tmp_path):
    with OpenAIServer(lambda request, choice: r"\boxed{-1}") as server:
        done = subprocess.run(
            [INSPECT, "eval", "--run-config", RUNS / RUN, *OPTIONS, "--log-dir", tmp_path],
            env={**os.environ, "LOCAL_BASE_URL": server.url, "LOCAL_API_KEY": "x"},
            capture_output=True,
            text=True,
            check=False,
        )
        [request] = server.requests
    assert "f1_score" in done.stdout
    sent = {
        name: request.body[name] for name in ("n", "temperature", "top_p", "max_tokens", "seed")
    }
    assert sent == {"n": 8, "temperature": 1.0, "top_p": 0.9, "max_tokens": 8192, "seed": 42}
