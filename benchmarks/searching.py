"""The time of a guided search: of one step, and of many searches at once."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inspect_ai.log import EvalLog
from inspect_ai.model import Model

from benchmarks._measurement import TIMES, Measurement
from benchmarks._runs import server_process
from misstep.evals.guided_search import guided_search
from tests.support.openai_server import SEARCH_STEPS
from tests.support.runs import local_model, succeed

LATENCY = 200
PROBLEMS = 50
CANDIDATES = 8
ROUND_TRIPS = 2
TOLERANCE = 1.15
CONNECTIONS = PROBLEMS * CANDIDATES
"""The calls of fifty problems while their candidates are scored."""


def measure() -> Iterator[Measurement]:
    """Yield the seconds of a step, and the ratio of fifty parallel searches to sequential ones."""
    options = ("--reply", "searcher", "--latency", str(LATENCY))
    with tempfile.TemporaryDirectory() as folder, server_process(*options) as url:
        policy = local_model(url, "lean/local/policy")
        rewards = {
            "a judge": local_model(url, "lean/local/judge"),
            "a served reward model": local_model(url, "prm/qwen2.5-math-prm-7b"),
        }
        target = ROUND_TRIPS * LATENCY / 1000 * TOLERANCE
        alone = 0.0
        for name, reward in rewards.items():
            # The first run is not measured: it imports the client libraries.
            _run(folder, policy, reward, 1)
            alone = min(_seconds(_run(folder, policy, reward, 1)) for _ in range(TIMES))
            note = f"{CANDIDATES} candidates and rewards, {LATENCY} ms a call; in turn 1.8 s"
            yield Measurement(f"a search step by {name}", alone / SEARCH_STEPS, "s", target, note)
        slowest = _seconds(_run(folder, policy, reward, PROBLEMS))
    note = f"{slowest:.1f} s, one alone {alone:.1f} s"
    ratio = slowest / (PROBLEMS * alone)
    yield Measurement(f"{PROBLEMS} searches at once beside in turn", ratio, "times", 0.3, note)


def _run(folder: str, policy: Model, reward: Model, problems: int) -> EvalLog:
    path = Path(folder) / "problems.jsonl"
    rows = [{"problem": f"Problem {i}", "answer": "1"} for i in range(problems)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return succeed(
        guided_search(source=str(path), n=CANDIDATES, style="single_token", continuation="prefill"),
        folder,
        policy,
        model_roles={"reward": reward},
        log_level="error",
        max_connections=CONNECTIONS,
        max_samples=PROBLEMS,
    )


def _seconds(log: EvalLog) -> float:
    """Return the seconds that the log states for the longest search."""
    return max(
        (sample.scores or {})["final_answer"].metadata["budget"]["seconds"]  # type: ignore[index]
        for sample in log.samples or []
    )
