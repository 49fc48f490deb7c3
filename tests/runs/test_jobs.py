"""Jobs in processes and on a real Ray cluster of two nodes, one of which is killed."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from misstep.registry import MisstepError
from misstep.runs import (
    EvalCommand,
    Job,
    Sweep,
    local_processes,
    ray_cluster,
    run_sweep,
    sweep_runs,
)
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


def test_a_job_that_raises_is_a_problem_of_that_job_alone(tmp_path):
    job = Job(str(tmp_path / "no-such.shards"), 0)
    command = EvalCommand(eval="misstep/processbench.sample", task_args={"critic": "no_error"})
    good = Job(
        str(tmp_path / "good"),
        command=command.model_copy(
            update={"config": {"model": {"model": "none"}}, "limit": (0, 2)}
        ),
    )
    ends = {job.folder: problem for job, problem in local_processes(1)([job, good])}
    assert "not a split run" in ends[job.folder]
    assert ends[good.folder] is None


def test_connections_are_shared_among_the_jobs_of_a_model_that_run_at_once(tmp_path, monkeypatch):
    given = {}

    def note(job, workers):
        given[job.folder] = workers

    monkeypatch.setattr("misstep.runs._jobs.run_job", note)
    jobs = [Job(name, model=model) for name, model in zip("abcd", "xxxy", strict=True)]
    list(local_processes(2)(jobs))
    assert given == {"a": 2, "b": 2, "c": 2, "d": 1}
    list(local_processes(8)(jobs))
    assert given == {"a": 3, "b": 3, "c": 3, "d": 1}


@pytest.fixture(scope="module")
def cluster():
    """Yield a cluster of one node with one processor, to which tests add nodes."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        # Ray gives its workers a low priority: they would wait for all other tests.
        patch.setenv("RAY_worker_niceness", "0")
        node = {"num_cpus": 1, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=node)
        yield cluster
    ray.shutdown()
    cluster.shutdown()


def a_sweep(folder, server, *evals):
    """Return a sweep whose workers ask about one sample after another and save each at once."""
    return {
        "log_dir": str(folder / "logs"),
        "evals": [{"eval": "misstep/processbench.sample", "limit": 12, **one} for one in evals],
        "models": [{"model": "openai-api/local/critic", "base_url": server.url}],
        "generate_config": {"max_connections": 1},
        "eval_config": {"log_buffer": 1, "max_samples": 1},
        "pass_env": ["LOCAL_API_KEY"],
    }


def assert_whole(log, samples):
    assert len({sample.id for sample in log.samples}) == len(log.samples) == samples


def test_a_sweep_outlives_a_node(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "x")
    with OpenAIServer(short) as server:
        sweep = Sweep.model_validate(a_sweep(tmp_path, server, {"shards": 2}))
        second = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        server.hold_after(4)

        def kill():
            server.wait_for_held(2)
            cluster.remove_node(second, allow_graceful=False)
            server.wait_for_held(1)
            server.release()

        with ThreadPoolExecutor(1) as pool:
            killer = pool.submit(kill)
            executor = ray_cluster(cluster.address, sweep.pass_env)
            [state] = run_sweep(sweep_runs(sweep), executor, lambda _: None)
            killer.result()
        assert state.problem is None
        assert_whole(read_eval_log(state.log), 12)
        again = len(server.requests) - 12
        assert again == 1, f"{again} calls were made again: only one had no answer"


@pytest.mark.parametrize("executor", ["--ray", "--processes=3"])
def test_a_sweep_whose_driver_is_killed_is_resumed(tmp_path, executor, request):
    if executor == "--ray":
        # This option joins the cluster that runs on this machine.
        request.getfixturevalue("cluster").add_node(num_cpus=2)
    evals = [{"shards": 2}, {"args": {"votes": 2}}]
    with OpenAIServer(short) as server:
        sweep = a_sweep(tmp_path, server, *evals)
        (tmp_path / "sweep.yaml").write_text(json.dumps(sweep), encoding="utf-8")
        command = [Path(sys.executable).parent / "misstep", "sweep", "run", "sweep.yaml", executor]
        environment = {**os.environ, "LOCAL_API_KEY": "x"}
        server.hold_after(4, lambda request: request.choices)
        driver = subprocess.Popen(command, cwd=tmp_path, env=environment)
        # Two shards and a whole run.
        server.wait_for_held(3, driver)
        driver.kill()
        driver.wait()
        # Its workers end by themselves when they see that it is gone.
        server.wait_for_disconnect()
        server.release()
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == 0
        for run in sweep_runs(Sweep.model_validate(sweep)):
            assert_whole(read_eval_log(run.progress().log), 12)
        again = len(server.requests) - 12 * len(evals)
        assert again == 3, f"{again} calls were made again: only 3 had no answer"
