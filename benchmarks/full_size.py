"""ProcessBench at its full size, in two processes, against raw asyncio and lm-evaluation-harness.

The harness is measured where its command `lm_eval` is in the path, or named by MISSTEP_LM_EVAL.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._measurement import Measurement
from benchmarks._programs import Usage, program, raw_calls, two_processes
from benchmarks._rows import FULL, rows_file
from benchmarks._runs import CONNECTIONS, server_process
from misstep.loaders import load_rows
from misstep.registry import find_domain
from misstep.solvers import critique_prompt

VOTES = 8
TO_RAW, TO_HARNESS, AT_TWO_SECONDS, TO_ONE_VOTE = 1.6, 0.9, 1.05, 1.6
GIGABYTES = 1.5
HARNESS_TASK = """
task: prompts
dataset_path: json
dataset_kwargs: {{data_files: {{test: {path}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{label}}}}"
generation_kwargs: {{until: ["<|end|>"], temperature: 0}}
metric_list: [{{metric: exact_match}}]
"""


def measure() -> Iterator[Measurement]:
    """Measure the ratios to the peers' times, and the memory of eight votes a sample."""
    with tempfile.TemporaryDirectory() as name, rows_file(FULL) as rows:
        folder = Path(name)
        prompts = _prompts(folder, rows)
        with server_process("--latency", "200") as url:
            raw = program(raw_calls(prompts), url)
            one = program(_eval(rows, folder / "one"), url)
            eight = program(_eval(rows, folder / "eight", f"votes={VOTES}"), url)
            yield _ratio("at 200 ms to raw asyncio", one, "raw", raw, TO_RAW)
            yield _harness(folder, url, one)
        yield _ratio("8 votes to 1", eight, "one vote", one, TO_ONE_VOTE)
        logs = f"log {_log_size(folder / 'eight')}, of one vote {_log_size(folder / 'one')}"
        note = f"the largest process of {FULL * VOTES:,} generations; {logs}"
        yield Measurement("memory of 8 votes", eight.megabytes / 1000, "GB", GIGABYTES, note)
        with server_process("--latency", "2000") as url:
            raw = program(raw_calls(prompts), url)
            slow = program(_eval(rows, folder / "slow"), url)
        yield _ratio("at 2 s to raw asyncio", slow, "raw", raw, AT_TWO_SECONDS)


def _eval(rows: Path, folder: Path, *options: str) -> list[str | Path]:
    arguments = [text for option in (f"source={rows}", *options) for text in ("-T", option)]
    return two_processes("misstep/processbench", folder, *arguments)


def _ratio(name: str, ours: Usage, peer: str, theirs: Usage, target: float) -> Measurement:
    taken = f"{ours.seconds:.1f} s, {peer} {theirs.seconds:.1f} s"
    note = f"{taken}; {FULL:,} samples, {CONNECTIONS} connections"
    return Measurement(f"ProcessBench {name}", ours.seconds / theirs.seconds, "times", target, note)


def _prompts(folder: Path, rows: Path) -> Path:
    """The requests of the raw peer, and the rows of the harness."""
    domain = find_domain("mathematics")
    asked = [
        (critique_prompt(domain, row.problem, row.steps, None), row.label)
        for row in load_rows(str(rows))
    ]
    path = folder / "requests.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for prompt, _ in asked:
            body = {"model": "critic", "messages": [{"role": "user", "content": prompt}]}
            stream.write(json.dumps(body) + "\n")
    with (folder / "harness.jsonl").open("w", encoding="utf-8") as stream:
        for prompt, label in asked:
            stream.write(json.dumps({"prompt": prompt, "label": str(label)}) + "\n")
    return path


def _harness(folder: Path, url: str, ours: Usage) -> Measurement:
    name = "ProcessBench to lm-evaluation-harness"
    command = os.environ.get("MISSTEP_LM_EVAL") or shutil.which("lm_eval")
    if command is None:
        return Measurement(name, None, "times", TO_HARNESS, "lm_eval is not in the path")
    tasks = folder / "tasks"
    tasks.mkdir()
    text = HARNESS_TASK.format(path=folder / "harness.jsonl")
    (tasks / "prompts.yaml").write_text(text, encoding="utf-8")
    options = f"model=critic,base_url={url}/chat/completions,num_concurrent={CONNECTIONS}"
    theirs = program(
        [
            *(command, "--model", "local-chat-completions", "--apply_chat_template"),
            *("--model_args", f"{options},tokenized_requests=False,tokenizer_backend=None"),
            *("--tasks", "prompts", "--include_path", tasks),
        ],
        url,
    )
    return _ratio("to lm-evaluation-harness", ours, "the harness", theirs, TO_HARNESS)


def _log_size(folder: Path) -> str:
    [log] = folder.glob("*.eval")
    return f"{log.stat().st_size / 1e6:.1f} MB"
