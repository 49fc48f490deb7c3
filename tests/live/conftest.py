"""Live tests: real servers, and models with random weights. `make live` runs them."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.live.servers import BUILD, lines

SAMPLE = Path(__file__).parents[2] / "loaders" / "embedded" / "processbench.jsonl"


@pytest.fixture(scope="session")
def models() -> Path:
    """Return the folder of the models. They are built once, and again when their code changes."""
    from tests.live import models
    from tests.live.models import build_models

    code = sha256(Path(models.__file__).read_bytes()).hexdigest()
    folder, done = BUILD / "models", BUILD / "models" / f"{code[:8]}.done"
    if not done.is_file():
        rows = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
        build_models(folder, [text for row in rows for text in (row["problem"], *row["steps"])])
        done.touch()
    return folder


def pytest_terminal_summary(terminalreporter):
    """Print how long servers took, their memory, and how close rewards are."""
    if lines:
        terminalreporter.section("live")
    for line in lines:
        terminalreporter.line(line)
