"""Runs in shards: how they are planned, and what is refused."""

import os
from pathlib import Path

import pytest

from misstep.registry import DataError, MisstepError
from misstep.runs import EvalCommand, Job, SplitRun, local_processes
from misstep.runs._split_run import Shard, split

EVAL = "misstep/processbench.sample"


@pytest.mark.parametrize(("start", "stop", "count"), [(0, 64, 3), (5, 6, 4), (10, 17, 7)])
def test_shards_cover_every_sample_once_and_in_order(start, stop, count):
    shards = split(start, stop, count)
    covered = [sample for shard in shards for sample in range(shard.start, shard.stop)]
    assert covered == list(range(start, stop))
    assert [shard.index for shard in shards] == list(range(len(shards)))


def test_sizes_differ_by_at_most_one_and_none_is_empty():
    sizes = [len(shard) for shard in split(0, 100, 7)]
    assert max(sizes) - min(sizes) == 1
    assert len(split(0, 3, 8)) == 3


def test_a_limit_counts_from_one_as_inspect_does():
    assert Shard(0, 0, 21).limit == "1-21"


def test_a_plan_never_takes_a_command_with_a_key(tmp_path):
    run = SplitRun.create(EvalCommand.parse(EVAL, [], (0, 4), []), 2, str(tmp_path))
    before = Path(run.folder, "split.json").read_bytes()
    options = ["--model-base-url", "https://user:sk-planted@host/v1"]
    with pytest.raises(MisstepError, match="a user name in a URL") as caught:
        run.replace_command(EvalCommand.parse(EVAL, [], (0, 4), options))
    assert "sk-planted" not in str(caught.value)
    assert Path(run.folder, "split.json").read_bytes() == before


def shuffles(run):
    arguments = run.next_arguments(run.shards[0], run.command, "config.yaml")
    return "--sample-shuffle" in arguments


@pytest.mark.parametrize(
    ("limit", "options", "shuffled"),
    [
        (None, [], True),
        ((0, 200), [], True),
        # The first 40 of all samples: a shuffle would select others.
        ((0, 40), [], False),
    ],
)
def test_all_samples_are_drawn_at_random_and_a_range_of_them_in_order(
    tmp_path, limit, options, shuffled
):
    run = SplitRun.create(EvalCommand.parse(EVAL, [], limit, options), 2, str(tmp_path))
    assert shuffles(run) is shuffled
    assert shuffles(SplitRun.open(run.folder)) is shuffled


def test_a_shuffle_that_the_user_asks_for_is_kept(tmp_path):
    command = EvalCommand.parse(EVAL, [], None, ["--sample-shuffle", "7"])
    run = SplitRun.create(command, 2, str(tmp_path))
    arguments = run.next_arguments(run.shards[0], command, "config.yaml")
    assert arguments.count("--sample-shuffle") == 1
    assert arguments[arguments.index("--sample-shuffle") + 1] == "7"


def test_another_command_for_what_is_left_is_kept_in_the_plan(tmp_path):
    command = EvalCommand.parse(EVAL, [], (0, 4), [], 1)
    run = SplitRun.create(command, 2, str(tmp_path))
    faster = EvalCommand.parse(EVAL, [], (0, 4), [], 9)
    run.replace_command(faster)
    assert SplitRun.open(run.folder).command == faster


@pytest.mark.parametrize(
    "command",
    [
        EvalCommand(eval=EVAL, options=("-M", "api_key=sk-planted")),
        EvalCommand(eval=EVAL, options=("-M", "api-key=sk-planted")),
        EvalCommand(eval=EVAL, options=("--model-role", "reward={model: a, api_key: sk-planted}")),
        EvalCommand(eval=EVAL, options=("--model-role", '{"a": {"api_key": "sk-planted"}}')),
        EvalCommand(eval=EVAL, config={"model": {"model": "a", "args": {"api_key": "sk-planted"}}}),
        EvalCommand(
            eval=EVAL,
            config={"generate_config": {"extra_headers": {"Authorization": "Bearer sk-planted"}}},
        ),
    ],
)
def test_a_key_is_refused_before_it_is_written_down(tmp_path, command):
    with pytest.raises(MisstepError, match="OPENAI_API_KEY") as refusal:
        SplitRun.create(command, 1, str(tmp_path))
    assert "sk-planted" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_a_shard_that_fails_is_named_and_the_others_are_kept(tmp_path):
    run = SplitRun.create(
        EvalCommand.parse(EVAL, [], (0, 4), ["--no-such-option"]), 2, str(tmp_path)
    )
    [(job, problem)] = local_processes(1)([Job(run.folder, 0)])
    assert job.shard == 0
    assert "ended with status 2" in problem
    assert "--no-such-option" in problem
    with pytest.raises(
        MisstepError, match=r"cannot join .*shard 0 \(2 samples\): not started; shard 1"
    ):
        run.join()
    assert not Path(run.location).exists()


def test_a_folder_without_a_plan_is_refused(tmp_path):
    with pytest.raises(DataError, match="not a split run"):
        SplitRun.open(str(tmp_path))


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    command = EvalCommand.parse(EVAL, [], (0, 2), [])
    with pytest.raises(MisstepError, match=r"file/.*: cannot be written .*--log-dir"):
        SplitRun.create(command, 2, os.fspath(tmp_path / "file"))
