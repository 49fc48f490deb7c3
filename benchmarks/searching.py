"""A step of a guided search beside the round trips that it needs, and many searches at once."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, get_model

from benchmarks._measurement import TIMES, Measurement
from benchmarks._runs import server_process
from misstep.evals.guided_search import guided_search
from tests.support.openai_server import SEARCH_STEPS

LATENCY = 200
PROBLEMS = 50
CANDIDATES = 8
ROUND_TRIPS = 2
TOLERANCE = 1.15
CONNECTIONS = PROBLEMS * CANDIDATES
"""As many calls as fifty problems have when their candidates are scored."""


def measure() -> Iterator[Measurement]:
    """The seconds of a step, and fifty searches at once as a share of one after another."""
    options = ("--reply", "searcher", "--latency", str(LATENCY))
    with tempfile.TemporaryDirectory() as folder, server_process(*options) as url:
        policy = _model("lean/local/policy", url)
        rewards = {
            "a judge": _model("lean/local/judge", url),
            "a served reward model": _model("prm/qwen2.5-math-prm-7b", url),
        }
        target = ROUND_TRIPS * LATENCY / 1000 * TOLERANCE
        alone = 0.0
        for name, reward in rewards.items():
            # Once before: the first run in a process imports the client libraries.
            _run(folder, policy, reward, 1)
            alone = min(_seconds(_run(folder, policy, reward, 1)) for _ in range(TIMES))
            note = f"{CANDIDATES} candidates and rewards, {LATENCY} ms a call; in turn 1.8 s"
            yield Measurement(f"a search step by {name}", alone / SEARCH_STEPS, "s", target, note)
        slowest = _seconds(_run(folder, policy, reward, PROBLEMS))
    note = f"{slowest:.1f} s, one alone {alone:.1f} s"
    ratio = slowest / (PROBLEMS * alone)
    yield Measurement(f"{PROBLEMS} searches at once beside in turn", ratio, "times", 0.3, note)


def _model(name: str, url: str) -> Model:
    return get_model(name, base_url=url, api_key="x", memoize=False)


def _run(folder: str, policy: Model, reward: Model, problems: int) -> EvalLog:
    path = Path(folder) / "problems.jsonl"
    rows = [{"problem": f"Problem {i}", "answer": "1"} for i in range(problems)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    [log] = evaluate(
        guided_search(source=str(path), n=CANDIDATES, style="single_token", continuation="prefill"),
        model=policy,
        model_roles={"reward": reward},
        log_dir=folder,
        # Any other lays out a table of all figures at the end of a run, however short.
        display="log",
        log_level="error",
        log_realtime=False,
        max_connections=CONNECTIONS,
        max_samples=PROBLEMS,
    )
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else f"the run ended as {log.status}")
    return log


def _seconds(log: EvalLog) -> float:
    """Of the search that took longest, by its own account."""
    return max(
        (sample.scores or {})["final_answer"].metadata["budget"]["seconds"]  # type: ignore[index]
        for sample in log.samples or []
    )
