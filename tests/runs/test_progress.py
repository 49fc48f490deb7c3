import pytest
from inspect_ai import eval as run_task
from inspect_ai.log import read_eval_log

from misstep.runs import SplitRun, Sweep, advance, progress, runs_of


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
    return runs_of(sweep)


def in_process(fail=(), ran=None):
    """An executor that runs shards here, so that tests are fast."""

    def execute(jobs):
        for job in jobs:
            if ran is not None:
                ran.append(job.shard)
            if job.shard in fail:
                yield job, "ended with the status 1"
                continue
            split = SplitRun.open(job.folder)
            shard = split.shards[job.shard]
            run_task(
                split.command.eval,
                task_args=split.command.task_args,
                limit=(shard.start, shard.stop),
                model="none",
                log_dir=split.shard_dir(shard),
                display="log",
            )
            yield job, None

    return execute


def test_a_failed_shard_is_named_and_the_same_command_runs_only_it(runs):
    told = []
    [state] = advance(runs, in_process(fail=[1]), told.append)
    assert not state.finished
    assert state.problem == "shard 1 ended with the status 1"
    assert (state.done, state.shards) == (2, 3)
    assert progress(runs[0]).joined is None

    ran = []
    [state] = advance(runs, in_process(ran=ran), told.append)
    assert ran == [1]
    assert state.finished
    assert [(s.done, s.finished) for s in told] == [
        (1, False),
        (1, False),
        (2, False),
        (3, True),
    ]
    log = read_eval_log(state.joined)
    assert len(log.samples) == 6

    assert advance(runs, in_process(ran=ran), told.append)[0].finished
    assert ran == [1], "a finished run is not run again"


def test_a_run_that_was_never_begun_has_none_done(runs):
    assert progress(runs[0]) == progress(runs[0])
    assert (progress(runs[0]).done, progress(runs[0]).shards) == (0, 3)


def test_shards_that_are_done_are_joined_without_running_any(runs):
    [run] = runs
    split = run.planned()
    list(in_process()([run.job(shard.index) for shard in split.shards]))
    ran = []
    [state] = advance(runs, in_process(ran=ran), lambda _: None)
    assert ran == []
    assert state.finished
