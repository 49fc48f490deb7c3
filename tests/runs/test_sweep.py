"""The runs of a sweep: their names, and running what is left of them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspect_ai import eval as run_task
from inspect_ai.log import read_eval_log

from misstep.cli._main import cli
from misstep.loaders import folder_lock
from misstep.runs import SplitRun, Sweep, local_processes, run_sweep, sweep_runs
from tests.support.openai_server import OpenAIServer, short


def sweep(**settings):
    return Sweep.model_validate(
        {
            "log_dir": "logs",
            "evals": [
                {"eval": "misstep/processbench.sample", "each": {"votes": [1, 8]}},
                "misstep/procedural.small",
            ],
            "models": [
                "openai/gpt-4o-mini",
                {"model": "openai/gpt-4o", "roles": {"reward": "a/b"}},
            ],
            **settings,
        }
    )


def test_every_eval_meets_every_model_with_every_argument_and_seed():
    runs = sweep_runs(sweep(seeds=[1, 2]))
    assert len(runs) == 2 * 2 * 2 + 2 * 2
    assert {(run.eval.eval, run.args.get("votes"), run.label, run.seed) for run in runs} == {
        (eval, votes, model, seed)
        for eval, each in [
            ("misstep/processbench.sample", [1, 8]),
            ("misstep/procedural.small", [None]),
        ]
        for votes in each
        for model in ("openai/gpt-4o-mini", "openai/gpt-4o")
        for seed in (1, 2)
    }


def test_names_differ_and_stay_the_same():
    names = [run.name for run in sweep_runs(sweep(seeds=[1, 2]))]
    assert len(set(names)) == len(names)
    assert names == [run.name for run in sweep_runs(sweep(seeds=[1, 2]))]
    assert names[0].startswith("processbench.sample_openai-gpt-4o-mini_votes-1_seed-1_")


def test_what_changes_results_changes_the_name_and_nothing_else_does():
    [plain, *_] = sweep_runs(sweep())
    [warmer, *_] = sweep_runs(sweep(generate_config={"temperature": 1}))
    [elsewhere, *_] = sweep_runs(sweep(log_dir="s3://bucket/logs"))
    [wider, *_] = sweep_runs(
        sweep(
            generate_config={"max_connections": 99},
            eval_config={"log_buffer": 1},
            tags=["again"],
            models=[{"model": "openai/gpt-4o-mini", "base_url": "http://proxy/v1", "cpus": 2}],
        )
    )
    assert warmer.name != plain.name
    assert elsewhere.name == wider.name == plain.name


def test_settings_go_into_inspects_own_run_configuration():
    runs = sweep_runs(
        sweep(seeds=[7], generate_config={"max_tokens": 9}, eval_config={"epochs": 2})
    )
    config = next(run for run in runs if run.label == "openai/gpt-4o").command.config
    assert config == {
        "model": {"model": "openai/gpt-4o"},
        "model_roles": {"reward": {"model": "a/b"}},
        "generate_config": {"max_tokens": 9, "seed": 7},
        "eval_config": {"epochs": 2},
    }


@pytest.fixture
def runs(tmp_path):
    sweep = Sweep.model_validate(
        {
            "log_dir": str(tmp_path),
            "evals": [
                {
                    "eval": "misstep/processbench.sample",
                    "args": {"critic": "uniform"},
                    "limit": 6,
                    "shards": 3,
                }
            ],
            "models": ["none"],
        }
    )
    return sweep_runs(sweep)


def in_process(fail=(), ran=None):
    """Return an executor that runs shards in this process, so that tests are fast."""

    def execute(jobs):
        for job in jobs:
            if ran is not None:
                ran.append(job.shard)
            if job.shard in fail:
                yield job, "ended with status 1"
                continue
            split = SplitRun.open(job.folder)
            shard = split.shards[job.shard]
            run_task(
                split.command.eval,
                task_args=split.command.task_args,
                limit=(shard.start, shard.stop),
                model="none",
                log_dir=f"{job.folder}/{job.shard}",
                display="log",
            )
            yield job, None

    return execute


def test_a_failed_shard_is_named_and_the_same_command_runs_only_it(runs):
    reported = []
    [state] = run_sweep(runs, in_process(fail=[1]), reported.append)
    assert not state.finished
    assert state.problem == "shard 1 ended with status 1"
    assert (state.done, state.shards) == (2, 3)
    assert runs[0].progress().log is None

    ran = []
    [state] = run_sweep(runs, in_process(ran=ran), reported.append)
    assert ran == [1]
    assert state.finished
    assert [(s.done, s.finished) for s in reported] == [
        (1, False),
        (1, False),
        (2, False),
        (3, True),
    ]
    log = read_eval_log(state.log)
    assert len(log.samples) == 6

    assert run_sweep(runs, in_process(ran=ran), reported.append)[0].finished
    assert ran == [1], "a finished run is not run again"


def test_a_run_that_was_never_started_has_no_shard_done(runs):
    assert runs[0].progress() == runs[0].progress()
    assert (runs[0].progress().done, runs[0].progress().shards) == (0, 3)


def test_shards_that_are_done_are_joined_without_running_any(runs):
    [run] = runs
    list(in_process()(run.jobs()))
    ran = []
    [state] = run_sweep(runs, in_process(ran=ran), lambda _: None)
    assert ran == []
    assert state.finished


def test_a_shard_log_that_is_being_written_does_not_keep_its_run_from_being_joined(runs):
    [run] = runs
    unfinished = Path(run.folder) / "2" / "2026-01-01T00-00-00_processbench_x.eval"

    def execute(jobs):
        for job, problem in in_process()(jobs):
            # While the other shards end, the last one has begun to write its log.
            if job.shard < 2:
                unfinished.parent.mkdir(exist_ok=True)
                unfinished.write_bytes(b"PK")
            yield job, problem
            unfinished.unlink(missing_ok=True)

    [state] = run_sweep(runs, execute, lambda _: None)
    assert state.problem is None
    assert state.finished


def test_a_shard_log_that_cannot_be_joined_is_a_problem_of_its_run_alone(runs, monkeypatch):
    def broken(self):
        raise ValueError("cannot be joined")

    monkeypatch.setattr(SplitRun, "join", broken)
    [state] = run_sweep(runs, in_process(), lambda _: None)
    assert state.problem == "cannot be joined"
    assert not state.finished


def baselines(tmp_path, *evals, **settings):
    return sweep_runs(
        Sweep.model_validate(
            {"log_dir": str(tmp_path), "evals": list(evals), "models": ["none"], **settings}
        )
    )


UNIFORM = {"eval": "misstep/processbench.sample", "args": {"critic": "uniform"}, "limit": 4}


def test_mistakes_in_some_runs_do_not_stop_the_others(tmp_path):
    runs = baselines(
        tmp_path,
        {"eval": "misstep/no-such-eval", "shards": 2},
        {"eval": "misstep/no-such-eval"},
        UNIFORM,
        {**UNIFORM, "shards": 2},
        {**UNIFORM, "args": {"critic": "no-such-critic"}},
    )
    states = run_sweep(runs, local_processes(2), lambda _: None)
    assert [state.finished for state in states] == [False, False, True, True, False]
    assert "no-such-eval" in states[0].problem
    assert "no-such-eval" in states[1].problem
    assert "no-such-critic" in states[4].problem
    logs = [read_eval_log(state.log) for state in states[2:4]]
    assert logs[0].results.scores == logs[1].results.scores
    assert [len(log.samples) for log in logs] == [4, 4]


def test_a_log_that_cannot_be_read_is_a_problem_of_its_run_alone(tmp_path):
    broken, good = baselines(tmp_path, UNIFORM, {**UNIFORM, "limit": 3})
    folder = tmp_path / broken.name
    folder.mkdir()
    (folder / "2026-01-01T00-00-00-00-00_processbench_x.eval").write_bytes(b"PK not a log")
    states = run_sweep([broken, good], local_processes(2), lambda _: None)
    assert [state.finished for state in states] == [False, True]
    assert "cannot be read" in states[0].problem


def test_a_run_without_shards_is_an_eval_set_of_inspect(tmp_path):
    [run] = baselines(tmp_path, UNIFORM)
    [state] = run_sweep([run], local_processes(1), lambda _: None)
    log = read_eval_log(state.log, header_only=True)
    assert log.eval.eval_set_id
    assert Path(state.log.removeprefix("file://")).parent == tmp_path / run.name


def test_samples_that_are_generated_while_the_eval_runs_need_no_shards(tmp_path):
    stream = {"eval": "misstep/procedural", "args": {"n": 6000, "critic": "no_error"}}
    [run] = baselines(tmp_path, {**stream, "limit": 5})
    [state] = run_sweep([run], local_processes(1), lambda _: None)
    assert state.finished, state.problem


@pytest.mark.parametrize("shards", [1, 2])
def test_a_finished_run_is_not_repeated_with_other_connections_or_shards(
    tmp_path, monkeypatch, shards
):
    monkeypatch.setenv("LOCAL_API_KEY", "x")
    with OpenAIServer(short) as server:

        def run(shards=shards, **settings):
            runs = sweep_runs(
                Sweep.model_validate(
                    {
                        "log_dir": str(tmp_path),
                        "evals": [
                            {"eval": "misstep/processbench.sample", "limit": 4, "shards": shards}
                        ],
                        "models": [{"model": "openai-api/local/critic", "base_url": server.url}],
                        **settings,
                    }
                )
            )
            [state] = run_sweep(runs, local_processes(2), lambda _: None)
            assert state.finished, state.problem
            return len(server.requests)

        assert run(generate_config={"max_connections": 2}) == 4
        settings = {"eval_config": {"log_buffer": 1}, "tags": ["again"]}
        assert run(generate_config={"max_connections": 4, "max_retries": 1}, **settings) == 4
        assert run(shards=3 - shards) == 4
        assert run(generate_config={"temperature": 0.5}) == 8


def test_a_mistake_is_reported_at_the_end_with_a_status(tmp_path):
    sweep = {
        "log_dir": str(tmp_path / "logs"),
        "evals": [UNIFORM, {"eval": "misstep/no-such-eval"}],
        "models": ["none"],
    }
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep), encoding="utf-8")
    command = ["sweep", "run", str(tmp_path / "sweep.yaml")]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(cli, command)
    assert done.exit_code == 1
    assert "no-such-eval" in done.stdout.splitlines()[-1] or "no-such-eval" in done.stdout
    assert "finished" in done.stdout


def test_a_run_that_another_sweep_is_running_is_left_to_it(tmp_path):
    held, free = baselines(tmp_path, UNIFORM, {**UNIFORM, "limit": 5})
    with folder_lock(held.folder):
        first, second = run_sweep([held, free], local_processes(1), lambda _: None)
    assert "in use by process" in first.problem
    assert not first.finished
    assert second.finished, second.problem
    [state] = run_sweep([held], local_processes(1), lambda _: None)
    assert state.finished, state.problem


def test_a_suite_prints_its_estimate_before_and_writes_a_page_after(tmp_path):
    (tmp_path / "suites").mkdir()
    suite = {
        "log_dir": str(tmp_path / "logs"),
        "report": "report.html",
        "evals": [
            {"eval": "misstep/procedural", "args": {"n": 20, "critic": "no_error"}},
            {"eval": "misstep/mr_ben", "args": {"source": "absent.json"}},
        ],
    }
    (tmp_path / "suites" / "mine.yaml").write_text(json.dumps(suite), encoding="utf-8")
    command = ["sweep", "run", "mine", "--model", "mockllm/model", "--limit", "4"]
    environment = {"MISSTEP_REGISTRY": str(tmp_path), "COLUMNS": "120"}
    done = CliRunner(env=environment).invoke(cli, command)
    assert done.exit_code == 1, done.output
    plan, _, rest = done.stdout.partition("2 runs. Calls and tokens are estimates")
    assert "all known" in plan
    # The eval whose file is missing is named before the run and after it; the other has its page.
    assert rest.count("absent.json") >= 2
    assert "procedural · procedural" in (tmp_path / "logs" / "report.html").read_text("utf-8")
