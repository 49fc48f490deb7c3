"""The joined log equals the log of the unsplit run; whatever is not whole is refused."""

from errno import ENOSPC
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from fsspec.implementations.local import LocalFileSystem
from inspect_ai import eval as run_task
from inspect_ai.log import (
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    write_eval_log,
)
from inspect_ai.model import get_model

from misstep.registry import MisstepError
from misstep.runs._split_run import ShardLog, join_logs, split
from tests.support.openai_server import OpenAIServer, critic

SAMPLES = 24


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run ProcessBench's sample, or a part of it, against a server that always says the same."""
    folder = tmp_path_factory.mktemp("logs")
    with OpenAIServer(critic) as server:
        model = get_model(
            "openai-api/local/critic", base_url=server.url, api_key="x", memoize=False
        )

        def run(limit, **options):
            [log] = run_task(
                "misstep/processbench.sample",
                task_args={"votes": 4},
                model=model,
                limit=limit,
                log_dir=str(folder),
                display="log",
                **options,
            )
            return log

        yield run


def header(location):
    return read_eval_log(location, header_only=True)


def join(parts, location, limit=None, order=None):
    return join_logs(parts, str(location), limit, order)


@pytest.fixture(scope="module")
def parts(run):
    return [
        ShardLog(shard.index, len(shard), header(run((shard.start, shard.stop)).location))
        for shard in split(0, SAMPLES, 3)
    ]


@pytest.fixture(scope="module")
def spread(run):
    """The same run, split into shards that are drawn at random from all 200 samples."""
    return [
        ShardLog(
            shard.index,
            len(shard),
            header(run((shard.start, shard.stop), sample_shuffle=42).location),
        )
        for shard in split(0, 200, 2)
    ]


@pytest.fixture(scope="module")
def whole(run):
    return read_eval_log(run((0, SAMPLES)).location)


@pytest.fixture(scope="module")
def everything(run):
    """The unsplit run of all 200 samples."""
    return read_eval_log(run(None).location)


@pytest.fixture(scope="module")
def joined(parts, tmp_path_factory):
    location = tmp_path_factory.mktemp("joined") / "joined.eval"
    join(parts, location, (0, SAMPLES))
    return read_eval_log(str(location))


def test_figures_equal_those_of_the_unsplit_run_to_the_last_digit(joined, whole):
    assert joined.results.scores == whole.results.scores
    assert joined.results.total_samples == whole.results.total_samples == SAMPLES
    assert joined.results.completed_samples == whole.results.completed_samples
    assert joined.reductions == whole.reductions


def test_samples_equal_those_of_the_unsplit_run(joined, whole):
    def what(log):
        return [
            (s.id, s.epoch, s.input, s.target, s.output.choices, s.scores, s.metadata)
            for s in log.samples
        ]

    def plain(rows):
        return [[str(value) for value in row[:4]] + [row[6]] for row in rows]

    assert plain(what(joined)) == plain(what(whole))
    for ours, theirs in zip(what(joined), what(whole), strict=True):
        assert {k: (v.value, v.answer) for k, v in ours[5].items()} == {
            k: (v.value, v.answer) for k, v in theirs[5].items()
        }


def test_usage_is_summed(joined, whole, parts):
    assert joined.stats.model_usage == whole.stats.model_usage
    starts = [part.log.stats.started_at for part in parts]
    assert joined.stats.started_at == min(starts)


def test_it_says_what_it_was_joined_from(joined, whole):
    assert joined.eval.dataset.sample_ids == whole.eval.dataset.sample_ids
    assert joined.eval.config.limit == whole.eval.config.limit
    ledger = joined.eval.shards.ledger
    assert [entry.shard for entry in ledger] == ["0", "1", "2"]
    assert sum(entry.samples for entry in ledger) == SAMPLES


def test_shards_drawn_at_random_are_joined_in_the_order_of_the_unsplit_run(
    everything, spread, tmp_path
):
    order = everything.eval.dataset.sample_ids
    location = tmp_path / "joined.eval"
    join(spread, location, None, order)
    joined = read_eval_log(str(location))
    assert joined.results.scores == everything.results.scores
    assert joined.reductions == everything.reductions
    assert [sample.id for sample in joined.samples] == [sample.id for sample in everything.samples]
    assert joined.eval.dataset == everything.eval.dataset
    assert joined.eval.config.sample_shuffle is None
    assert joined.eval.config.limit is None
    assert [one.id for one in read_eval_log_sample_summaries(str(location))] == order


def test_every_shard_drawn_at_random_has_samples_of_every_large_subset(spread, everything):
    subsets = {sample.id: sample.metadata["subset"] for sample in everything.samples}
    held = list(subsets.values())
    for shard in spread:
        drawn = [subsets[one] for one in shard.sample_ids]
        for subset in {one for one in held if held.count(one) >= 10}:
            share = drawn.count(subset) / held.count(subset)
            assert 0.2 < share < 0.8, f"shard {shard.index} has {share:.0%} of {subset}"


def test_one_sample_is_read_by_its_id(joined, whole):
    first = whole.samples[0]
    sample = read_eval_log_sample(joined.location, first.id)
    assert sample.messages == first.messages or sample.input == first.input


def test_a_sample_that_is_missing_is_named_and_nothing_is_written(parts, tmp_path):
    log = read_eval_log(parts[1].log.location)
    log.samples = log.samples[1:]
    write_eval_log(log, tmp_path / "short.eval")
    location = tmp_path / "joined.eval"
    broken = [parts[0], ShardLog(1, 8, header(tmp_path / "short.eval")), parts[2]]
    with pytest.raises(MisstepError, match=r"shard 1 is incomplete: .* 7 of 8"):
        join(broken, location)
    assert not location.exists()


def test_a_sample_that_no_shard_holds_is_noticed(parts, tmp_path):
    order = [one for part in parts for one in part.sample_ids]
    with pytest.raises(MisstepError, match="16 samples, not the 24"):
        join(parts[:2], tmp_path / "j.eval", None, order)


def test_logs_of_different_runs_are_not_joined(parts, tmp_path):
    log = read_eval_log(parts[1].log.location)
    log.eval.model = "openai/another"
    write_eval_log(log, tmp_path / "other.eval")
    with pytest.raises(MisstepError, match=r"not parts of one run: the model .*openai/another"):
        join([parts[0], ShardLog(1, 8, header(tmp_path / "other.eval"))], tmp_path / "j.eval")


def test_parts_that_ran_with_other_connections_are_joined(run, parts, tmp_path):
    other = ShardLog(1, 8, header(run((8, 16), max_connections=3).location))
    joined = join([parts[0], other, parts[2]], tmp_path / "j.eval")
    assert joined.results.total_samples == SAMPLES


def test_a_part_twice_is_refused(parts, tmp_path):
    with pytest.raises(MisstepError, match="more than one shard"):
        join([parts[0], ShardLog(1, 8, parts[0].log)], tmp_path / "j.eval")


class Unseekable(BytesIO):
    """A file that can only be written to its end, as a pipe."""

    def seekable(self):
        return False

    def seek(self, *_):
        raise OSError("not seekable")


@pytest.mark.parametrize("kind", [BytesIO, Unseekable], ids=["seekable", "streamed"])
@pytest.mark.parametrize("method", [ZIP_STORED, ZIP_DEFLATED], ids=["stored", "deflated"])
def test_members_are_the_same_however_the_part_is_packed(kind, method, parts, joined, tmp_path):
    packed = kind()
    with ZipFile(parts[0].log.location) as source, ZipFile(packed, "w", method) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    path = tmp_path / "packed.eval"
    path.write_bytes(packed.getvalue())
    again = tmp_path / "joined.eval"
    join([ShardLog(0, 8, header(str(path))), *parts[1:]], again)
    with ZipFile(again) as ours, ZipFile(joined.location) as theirs:
        assert ours.testzip() is None
        assert ours.namelist() == theirs.namelist()
        for name in ours.namelist():
            if name.startswith("samples/"):
                assert ours.read(name) == theirs.read(name)


def test_of_members_with_one_name_the_last_counts(parts, joined, tmp_path):
    with ZipFile(parts[0].log.location) as source:
        contents = {name: source.read(name) for name in source.namelist()}
    name = next(name for name in contents if name.startswith("samples/"))
    path = tmp_path / "twice.eval"
    with ZipFile(path, "w") as archive:
        archive.writestr(name, b"{}")
        for member in contents.keys() - {name}:
            archive.writestr(member, contents[member])
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, contents[name])
    again = tmp_path / "joined.eval"
    join([ShardLog(0, 8, header(str(path))), *parts[1:]], again)
    with ZipFile(again) as ours, ZipFile(joined.location) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())
        assert ours.read(name) == contents[name]


def test_a_damaged_sample_is_refused(parts, tmp_path):
    with ZipFile(parts[0].log.location) as source, ZipFile(tmp_path / "d.eval", "w") as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
        inside = next(
            info for info in archive.infolist() if info.filename.startswith("samples/")
        ).header_offset
    content = bytearray((tmp_path / "d.eval").read_bytes())
    content[inside + 200] ^= 1
    (tmp_path / "d.eval").write_bytes(content)
    with pytest.raises(MisstepError, match=r"d\.eval is damaged: .*CRC"):
        join([ShardLog(0, 8, header(tmp_path / "d.eval")), *parts[1:]], tmp_path / "j.eval")
    assert not (tmp_path / "j.eval").exists()


def test_nothing_is_left_in_the_temporary_folder(parts, tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    join(parts, tmp_path / "joined.eval")
    assert not list((tmp_path / "scratch").glob("misstep-*"))
    assert [path.name for path in tmp_path.glob("joined*")] == ["joined.eval"]


def test_a_full_disk_leaves_no_partial_log(parts, tmp_path, monkeypatch):
    location = tmp_path / "joined.eval"

    def full(self, source, target, *arguments, **options):
        Path(target).write_bytes(b"some")
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalFileSystem, "put_file", full)
    with pytest.raises(OSError, match="No space left"):
        join(parts, location)
    assert not list(tmp_path.glob("joined*"))


def test_usage_is_that_of_all_samples_also_after_a_resumed_shard(parts, tmp_path):
    whole = join(parts, tmp_path / "whole.eval")
    first = parts[0].log.model_copy(deep=True)
    for usage in (*first.stats.model_usage.values(), *first.stats.role_usage.values()):
        usage.input_tokens = usage.output_tokens = usage.total_tokens = 1
    resumed = [ShardLog(parts[0].index, parts[0].size, first), *parts[1:]]
    joined = join(resumed, tmp_path / "resumed.eval")
    assert joined.stats.model_usage == whole.stats.model_usage
    [total] = whole.stats.model_usage.values()
    summaries = read_eval_log_sample_summaries(str(tmp_path / "resumed.eval"))
    used = sum(one.total_tokens for s in summaries for one in s.model_usage.values())
    assert total.total_tokens == used > 0
