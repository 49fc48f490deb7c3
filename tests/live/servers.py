"""Real servers in processes of their own: vLLM (CPU build), and llama.cpp's server."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

BUILD = Path(__file__).parents[2] / "build" / "live"
"""Models and the servers' own output."""
LONGEST_START = 600
"""Seconds."""

lines: list[str] = []
"""What the servers took, and how close rewards are: printed after the tests."""


@contextmanager
def vllm_server(folder: str, *options: str) -> Iterator[str]:
    """Serve a model of `build/live/models` with vLLM, under the folder's name. Yield the URL."""
    port = _free_port()
    program = shutil.which("vllm", path=str(Path(sys.executable).parent))
    assert program is not None
    command = [program, "serve", str(BUILD / "models" / folder), "--served-model-name", folder]
    command += ["--dtype", "float32", "--enforce-eager", "--host", "127.0.0.1", "--port", str(port)]
    settings = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "2",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    with _process(f"vLLM, {folder}", [*command, *options], settings, port) as url:
        yield url


@contextmanager
def llama_server(weights: Path, slots: int) -> Iterator[str]:
    """Serve a GGUF file with llama.cpp. Yield the URL."""
    port = _free_port()
    command = [sys.executable, "-m", "tests.live.llama_server", str(port), str(slots), str(weights)]
    with _process(f"llama.cpp, {weights.stem}", command, {}, port) as url:
        yield url


@contextmanager
def _process(name: str, command: list[str], settings: dict[str, str], port: int) -> Iterator[str]:
    # Tests that are ended from outside, for example by `timeout`, end their servers, too.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM"))
    (BUILD / "output").mkdir(parents=True, exist_ok=True)
    output = BUILD / "output" / f"{name.replace(', ', '-')}-{port}.txt"
    started = time.monotonic()
    with output.open("wb") as file:
        server = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings},
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        while not _is_up(url):
            late = time.monotonic() - started > LONGEST_START
            if late or server.poll() is not None:
                end = output.read_text(errors="replace")[-3000:]
                pytest.fail(f"{' '.join(command)}: the server did not start.\n{end}")
            time.sleep(0.2)
        seconds = time.monotonic() - started
        yield url
        lines.append(f"{name}: {_peak_memory(server):.1f} GB, up in {seconds:.0f} s")
    finally:
        _stop(server)


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).is_success
    except httpx.HTTPError:
        return False


def _peak_memory(server: subprocess.Popen[bytes]) -> float:
    """Return the largest memory of a server and its workers, in GB."""
    parent = psutil.Process(server.pid)
    total = 0
    for process in [parent, *parent.children(recursive=True)]:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "x 0")
        total += int(peak.split()[1])
    return total / 1e6


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a server with all its workers: they are one process group."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, sent)
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
