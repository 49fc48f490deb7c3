"""A sweep of three models and four evals on a Ray cluster of two nodes; one node is killed.

python -m benchmarks.cluster

Everything is on this machine. The sweep runs twice: in plain processes, and on a cluster whose
second node dies in the middle. The metrics must be the same, and no answered call is repeated.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from inspect_ai.log import EvalScore, read_eval_log

from misstep.runs import Executor, Sweep, local_processes, ray_cluster, run_sweep, sweep_runs
from tests.support.openai_server import OpenAIServer, short

EVALS = [
    {"eval": "misstep/processbench.sample", "limit": 16, "shards": 2},
    {"eval": "misstep/processbench.sample", "args": {"votes": 3}, "limit": 8},
    {"eval": "misstep/procedural.small", "limit": 8},
    {"eval": "misstep/error-recovery.sample", "limit": 4},
]
MODELS = ("a", "b", "c")
DIES_AT = 60
"""The second node dies after this many requests."""


def main() -> int:
    """Run the sweep both ways and compare; return 1 if the metrics differ."""
    os.environ["LOCAL_API_KEY"] = "x"
    with OpenAIServer(short, latency=50) as server:
        plain = _metrics(server.url, lambda: local_processes(2))
        needed = len(server.requests)
        print(f"plain: {len(plain)} runs, {needed} requests", flush=True)
    with OpenAIServer(short, latency=50) as server:
        start = time.monotonic()
        clustered = _metrics(server.url, lambda: _dying_cluster(server))
        seconds = time.monotonic() - start
        again = len(server.requests) - needed
    print(f"cluster: {len(clustered)} runs in {seconds:.0f} s, {again} requests more", flush=True)
    same = clustered == plain
    print("the same metrics" if same else "other metrics")
    return 0 if same else 1


def _metrics(url: str, executor: Callable[[], Executor]) -> dict[tuple[str, str], list[EvalScore]]:
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep.model_validate(
            {
                "log_dir": folder,
                "evals": EVALS,
                "models": [
                    {"model": f"openai-api/local/{name}", "base_url": url} for name in MODELS
                ],
                "generate_config": {"max_connections": 2},
                "eval_config": {"log_buffer": 1},
                "pass_env": ["LOCAL_API_KEY"],
            }
        )
        states = run_sweep(sweep_runs(sweep), executor(), lambda state: None)
        metrics = {}
        for number, state in enumerate(states):
            if state.log is None:
                raise RuntimeError(f"{state.run.name}: {state.problem}")
            log = read_eval_log(state.log)
            metrics[str(number), state.run.label] = log.results.scores if log.results else []
        return metrics


def _dying_cluster(server: OpenAIServer) -> Executor:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)

    def kill() -> None:
        while len(server.requests) < DIES_AT:
            time.sleep(0.05)
        cluster.remove_node(second, allow_graceful=False)
        print("the second node is dead", flush=True)

    threading.Thread(target=kill, daemon=True).start()
    return ray_cluster(cluster.address, ["LOCAL_API_KEY"])


if __name__ == "__main__":
    sys.exit(main())
