"""A real Ray cluster of two nodes on this machine, one of which is killed in the middle."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from misstep.registry import MisstepError
from misstep.runs import Sweep, advance, ray_cluster, runs_of
from tests.support.openai_server import OpenAIServer, short

ray = pytest.importorskip("ray", reason="the extra `cluster` is not installed")


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("SOME_API_KEY", raising=False)
    with pytest.raises(MisstepError, match="SOME_API_KEY"):
        ray_cluster(None, ["SOME_API_KEY"])


def test_without_ray_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MisstepError, match=r"pip install 'misstep\[cluster\]'"):
        ray_cluster()


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_sweep_outlives_a_node(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "x")
    with OpenAIServer(short, latency=100) as server:
        sweep = Sweep.model_validate(
            {
                "log_dir": str(tmp_path),
                "evals": [{"eval": "misstep/processbench.sample", "limit": 20, "shards": 2}],
                "models": [{"model": "openai-api/local/critic", "base_url": server.url}],
                # One sample after another, each saved at once, so that the node dies in the middle.
                "generate_config": {"max_connections": 1},
                "eval_config": {"log_buffer": 1, "max_samples": 1},
                "pass_env": ["LOCAL_API_KEY"],
            }
        )
        second = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)

        def kill():
            while len(server.requests) < 6:
                time.sleep(0.05)
            cluster.remove_node(second, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        [state] = advance(
            runs_of(sweep), ray_cluster(cluster.address, sweep.pass_env), lambda _: None
        )
        killer.join()
        assert state.problem is None
        log = read_eval_log(state.joined)
        assert len({sample.id for sample in log.samples}) == len(log.samples) == 20
        again = len(server.requests) - 20
        assert again <= 2, f"{again} answered calls were made again"


@pytest.mark.parametrize("executor", [["--ray"], ["--processes", "1"]])
def test_a_sweep_whose_driver_is_killed_goes_on(tmp_path, executor):
    with OpenAIServer(short, latency=100) as server:
        sweep = {
            "log_dir": str(tmp_path / "logs"),
            "evals": [{"eval": "misstep/processbench.sample", "limit": 20, "shards": 2}],
            "models": [{"model": "openai-api/local/critic", "base_url": server.url}],
            "generate_config": {"max_connections": 1},
            "eval_config": {"log_buffer": 1, "max_samples": 1},
            "pass_env": ["LOCAL_API_KEY"],
        }
        (tmp_path / "sweep.yaml").write_text(json.dumps(sweep), encoding="utf-8")
        command = [Path(sys.executable).parent / "misstep", "sweep", "run", "sweep.yaml", *executor]
        environment = {**os.environ, "LOCAL_API_KEY": "x"}
        driver = subprocess.Popen(command, cwd=tmp_path, env=environment)
        while len(server.requests) < 6:
            assert driver.poll() is None, "the sweep ended before its driver was killed"
            time.sleep(0.05)
        driver.kill()
        driver.wait()
        asked = -1
        # Its workers end by themselves when they see that it is gone.
        while asked < (asked := len(server.requests)):
            time.sleep(2)
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == 0
        [log] = [
            read_eval_log(info) for info in list_eval_logs(str(tmp_path / "logs"), recursive=False)
        ]
        assert len({sample.id for sample in log.samples}) == len(log.samples) == 20
        again = len(server.requests) - 20
        assert again <= 2, f"{again} answered calls were made again"
