"""Samples are taken while shards still run."""

import time
from pathlib import Path

import pytest
from inspect_ai import eval as run_task

from misstep.runs import Archive, EvalCommand, SplitRun, gathering


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of two shards, of which the first is there, and what takes place every moment."""
    monkeypatch.setattr("misstep.runs._gathering._SECONDS", 0.01)
    command = EvalCommand.parse("misstep/processbench.sample", ["critic=no_error"], "8", [])
    split_run = SplitRun.create(command, 2, str(tmp_path))
    finish(split_run, 0)
    return split_run


def finish(run, index):
    shard = run.shards[index]
    run_task(
        run.command.eval,
        task_args=run.command.task_args,
        model="mockllm/model",
        limit=(shard.start, shard.stop),
        log_dir=run.shard_dir(shard),
        display="log",
    )


def samples_of(archive):
    return [name for name in archive._members.namelist() if name.startswith("samples/")]


def taken(archive, count):
    deadline = time.monotonic() + 30
    while len(samples_of(archive)) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(samples_of(archive))


def test_samples_are_taken_as_they_come_and_joined(run):
    with Archive() as archive:
        with gathering(run, archive):
            assert taken(archive, 4) == 4
            finish(run, 1)
            assert taken(archive, 8) == 8
        log = run.join(archive)
    assert log.results.total_samples == 8
    assert log.results.scores == run.join().results.scores


def test_a_log_that_is_not_whole_is_passed_over(run):
    broken = Path(run.shard_dir(run.shards[1]))
    broken.mkdir()
    (broken / "2026-01-01T00-00-00-00-00_processbench_x.eval").write_bytes(b"PK not yet")
    with Archive() as archive, gathering(run, archive):
        assert taken(archive, 4) == 4


def test_it_ends_when_the_run_fails(run):
    with pytest.raises(KeyError), Archive() as archive, gathering(run, archive):
        raise KeyError
